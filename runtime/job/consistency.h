#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "comm/collectives.h"
#include "comm/communicator.h"
#include "configs/config.h"
#include "runtime/data/batch/steps.h"

namespace penstock::runtime {

// These functions check that all ranks of a job agree before they compute together. Without
// agreement, a rank would wait for messages that no other rank sends. All ranks call them.

/// Throws ConfigError on every rank if a rank's recipe differs from rank 0's. The error names the
/// first key that differs, with both values. Keys that describe a rank's own machine (data.cache,
/// data.loaders, trainer.device, trainer.threads) may differ.
void require_same_recipe(comm::Communicator& world, const configs::Config& config);

/// Returns rank 0's text on all ranks, for information that ranks may see differently.
[[nodiscard]] inline std::string broadcast_text(comm::Communicator& world, const std::string& own) {
  return comm::broadcast(world, own);
}

/// Throws DataError on every rank if any rank has a fault; "" means none. The fault of the first
/// such rank is thrown.
void throw_together(comm::Communicator& world, const std::string& fault);

/// Data that some ranks read from files and all ranks need.
struct Reading {
  std::vector<int> readers;
  std::string what;  // "train.jsonl: texts", for errors
};

/// Returns on every rank the result of `read` on the first reader. That rank reads first and alone,
/// so that errors are reported once and caches are written once. Then the other readers read too.
/// Throws DataError on every rank if a reader fails or gets another result; the error names it.
[[nodiscard]] std::string read_alike(comm::Communicator& world, const Reading& reading,
                                     const std::function<std::string()>& read);

/// Builds an epoch on rank 0 and broadcasts it to the others, which must not have built it. For
/// millions of utterances, building takes seconds of a core, which the ranks of a machine would
/// take from each other. All ranks call it with the same options.
void share_epoch(comm::Communicator& world, StepSequence& steps, std::int64_t epoch);

}  // namespace penstock::runtime
