#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/collectives.h"
#include "configs/config.h"

namespace penstock::runtime {

// What every rank of a job must have found alike before the ranks compute together: otherwise they
// would wait for messages that nobody sends. All ranks call these.

/// ConfigError on every rank that names the first key of which a rank has another value than rank
/// 0, with both values. Keys that describe a rank's own machine (data.loaders, trainer.device,
/// trainer.threads) may differ.
void require_same_recipe(comm::Communicator& world, const configs::Config& config);

/// Of what ranks may see differently, what rank 0 sees.
[[nodiscard]] inline std::string word_of_rank_0(comm::Communicator& world, const std::string& own) {
  return comm::broadcast(world, own);
}

/// DataError on every rank if any has a fault ("": it has none): the lowest such rank's.
void throw_together(comm::Communicator& world, const std::string& fault);

/// What some ranks read of files, and all must know.
struct Reading {
  std::vector<int> readers;
  std::string what;  // "train.jsonl: texts", for errors
};

/// What `read` returns on the first reader, on every rank. That one reads first and alone, so that
/// faults are told once and caches written once; then the others do. DataError on every
/// rank if a reader meets one or finds something else, naming it.
[[nodiscard]] std::string read_alike(comm::Communicator& world, const Reading& reading,
                                     const std::function<std::string()>& read);

}  // namespace penstock::runtime
