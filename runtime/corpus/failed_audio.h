#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "runtime/data/loader.h"

namespace penstock::runtime {

/// Counts how many recordings have failed to be read, over all replicas together.
class FailedAudio {
 public:
  /// What an utterance is called in the error; else "utterance 17".
  using Names = std::function<std::string(std::uint64_t id)>;

  /// `share` is data.failing_utterances, of epochs of so many utterances.
  FailedAudio(double share, std::size_t utterances, Names names = {})
      : share_(share), utterances_(utterances), names_(std::move(names)) {}

  /// `failed` of all ranks, which know it alike, since the start; `here` gives this rank's of
  /// `epoch`, and is asked only then: DataError on all ranks that names those of every rank once
  /// more have failed in the epoch than may.
  void check(comm::Communicator& world, std::int64_t epoch, std::int64_t failed,
             const std::function<std::vector<FailedUtterance>()>& here);

 private:
  double share_;
  std::size_t utterances_;
  Names names_;
  std::int64_t epoch_ = -1, before_ = 0, last_ = 0;  // before_: failed before this epoch
};

}  // namespace penstock::runtime
