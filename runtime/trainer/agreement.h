#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "configs/config.h"

namespace penstock {

// What every rank of a job must have found alike before the ranks compute together: otherwise they
// would wait for messages that nobody sends. All ranks call these.

/// ConfigError on rank 0 that names the first key of which a rank has another value than rank 0,
/// with both values. Keys that describe a rank's own machine (data.loaders, trainer.device,
/// trainer.threads) may differ.
void agree_on_recipe(Communicator& world, const Config& config);

/// What some ranks read of files, and all must know.
struct Reading {
  std::vector<int> readers;
  std::string what;  // "train.jsonl: texts", for errors
};

/// What `read` returns on the first reader, on every rank. That one reads first and alone, so that
/// faults are told once and caches written once; then the others do, with `first` false. DataError
/// on a reader that finds something else.
std::string read_alike(Communicator& world, const Reading& reading,
                       const std::function<std::string(bool first)>& read);

}  // namespace penstock
