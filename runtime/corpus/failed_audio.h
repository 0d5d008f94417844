#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "runtime/data/audio/loader.h"

namespace penstock::runtime {

/// Limits how many recordings may fail to be read per epoch, over all replicas together.
class FailedAudio {
 public:
  /// Returns the name of an utterance for the error. Without it the name is "utterance 17".
  using Names = std::function<std::string(std::uint64_t id)>;

  /// `share` is data.failing_utterances, a fraction of the `utterances` of an epoch.
  FailedAudio(double share, std::size_t utterances, Names names = {})
      : share_(share), utterances_(utterances), names_(std::move(names)) {}

  /// Checks the limit. `failed` counts the failures on all ranks since the start and is the same on
  /// all. `here` returns this rank's failures in `epoch`; it is called only beyond the limit. In
  /// that case all ranks throw DataError, which names the failures of every rank. All ranks call
  /// this together.
  void check(comm::Communicator& world, std::int64_t epoch, std::int64_t failed,
             const std::function<std::vector<FailedUtterance>()>& here);

 private:
  double share_;
  std::size_t utterances_;
  Names names_;
  std::int64_t epoch_ = -1, before_ = 0, last_ = 0;  // before_: failures before this epoch
};

}  // namespace penstock::runtime
