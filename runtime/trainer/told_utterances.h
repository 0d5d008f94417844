#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/packing.h"
#include "comm/communicator.h"
#include "runtime/trainer/evaluation.h"

namespace penstock::runtime {

/// The message of a rank to rank 0 about utterances.
class ToldUtterances {
 public:
  void tell(std::uint64_t id, const Recognised& heard);
  /// Tells why an utterance's audio could not be used. It outweighs what is heard of it.
  void tell_failure(const FailedUtterance& utterance);

  /// Returns what all ranks told about utterances 0 to `count`, on rank 0, and nothing on other
  /// ranks. All ranks call it.
  [[nodiscard]] std::vector<Recognised> gather(comm::Communicator& world, std::size_t count) const;

 private:
  Packer told_;
};

/// Counts on rank 0 and broadcasts the counts, of all utterances and of each part. All ranks call
/// it.
[[nodiscard]] EvaluationReport count_together(comm::Communicator& world,
                                              const std::vector<Recognised>& utterances,
                                              const std::vector<CorpusPart>& parts);

}  // namespace penstock::runtime
