#include "runtime/job/share_epoch.h"

#include <string>
#include <string_view>

#include "comm/collectives.h"

namespace penstock::runtime {
namespace {

constexpr std::size_t kPiece = 64 << 20;  // of what is sent at once

}  // namespace

void share_first_epoch(comm::Communicator& world, StepSequence& steps) {
  if (world.size() == 1) return;
  const std::int64_t epoch = steps.options().start.epoch;
  const bool leads = world.rank() == 0;
  std::string bytes;
  if (leads) bytes = steps.bytes_of(epoch);
  for (std::size_t at = 0;; at += kPiece) {
    const bool more = leads && at < bytes.size();
    const std::string piece =
        comm::broadcast(world, more ? bytes.substr(at, kPiece) : std::string());
    if (piece.empty()) break;
    if (!leads) bytes += piece;
  }
  if (!leads) steps.take(epoch, bytes);
}

}  // namespace penstock::runtime
