#include "runtime/corpus/failed_audio.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "comm/collectives.h"
#include "runtime/data/manifest/faults.h"
#include "runtime/job/packing.h"

namespace penstock::runtime {
namespace {

/// Gathers the failures of every rank on rank 0.
Faults gather_failures(comm::Communicator& world, const std::vector<FailedUtterance>& here,
                       const FailedAudio::Names& names) {
  Packer message;
  for (const FailedUtterance& utterance : here) {
    message.add(static_cast<std::int64_t>(utterance.id));
    message.add(utterance.why);
  }
  Faults all;
  for (std::string& of_rank : comm::gather(world, message.bytes()))
    for (Unpacker from(std::move(of_rank)); !from.empty();) {
      const auto id = static_cast<std::uint64_t>(from.number());
      const std::string where = names ? names(id) : fmt::format("utterance {}", id);
      all.add(where, from.text());
    }
  return all;
}

}  // namespace

// `failed` counts over the whole run. The count at the end of the previous epoch is subtracted, so
// that a few bad files, which fail once an epoch, never add up to the limit. Every rank has the
// same count, so all throw or none.
void FailedAudio::check(comm::Communicator& world, std::int64_t epoch, std::int64_t failed,
                        const std::function<std::vector<FailedUtterance>()>& here) {
  if (epoch != epoch_) before_ = last_;
  epoch_ = epoch;
  last_ = failed;
  if (static_cast<double>(failed - before_) <= share_ * static_cast<double>(utterances_)) return;
  const std::string listed =
      comm::broadcast(world, gather_failures(world, here(), names_).listed());
  throw DataError(
      fmt::format("{} could not be read:{}\nThe limit, data.failing_utterances, is {:g} of {}. "
                  "Correct the recordings, or raise the limit.",
                  counted(failed - before_, "utterance"), listed, share_, utterances_));
}

}  // namespace penstock::runtime
