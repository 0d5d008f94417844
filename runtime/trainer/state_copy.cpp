#include "runtime/trainer/state_copy.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <map>
#include <utility>

#include "base/quantities.h"
#include "runtime/job/packing.h"

namespace penstock::runtime {
namespace {

std::size_t bytes_of(const CheckpointPiece& piece) {
  return static_cast<std::size_t>(piece.end - piece.begin) * layers::size_of(piece.dtype);
}

}  // namespace

std::size_t bytes_of(std::span<const CheckpointPiece> pieces) {
  std::size_t bytes = 0;
  for (const CheckpointPiece& piece : pieces) bytes += bytes_of(piece);
  return bytes;
}

StateCopy::StateCopy(layers::Backend& backend, layers::Stream& stream,
                     std::vector<CheckpointPiece> pieces)
    : backend_(backend),
      stream_(stream),
      pieces_(std::move(pieces)),
      memory_(backend.allocate_host(bytes_of(pieces_))) {}

std::vector<CheckpointPiece> StateCopy::take() {
  std::vector<CheckpointPiece> copies = pieces_;
  std::byte* to = memory_.data();
  for (CheckpointPiece& piece : copies) {
    const std::size_t bytes = bytes_of(piece);
    backend_.copy_out_async(stream_, to, piece.data, bytes);
    piece.data = to;
    to += bytes;
  }
  backend_.synchronize(stream_);
  return copies;
}

namespace {

std::string lack(const std::string& who, const HostMemoryUse& taken, const std::string& allowed) {
  return fmt::format(
      "a copy of the state takes {:.4g} GiB {}, besides the {:.4g} GiB of the plan, "
      "and {}",
      taken.copy / kGib, who, taken.planned / kGib, allowed);
}

constexpr double HostMemoryUse::*kNumbers[] = {&HostMemoryUse::machine_bytes,
                                               &HostMemoryUse::planned, &HostMemoryUse::limit,
                                               &HostMemoryUse::copy};

}  // namespace

// Two limits must hold: pipeline.memory_gib for each rank alone, and each machine's memory for all
// its ranks together.
std::string memory_shortage(const std::vector<HostMemoryUse>& ranks) {
  std::map<std::string, HostMemoryUse> machines;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const HostMemoryUse& own = ranks[rank];
    if (own.limit > 0 && own.planned + own.copy > own.limit)
      return lack(fmt::format("on rank {}", rank), own,
                  fmt::format("pipeline.memory_gib is {:.4g}", own.limit / kGib));
    HostMemoryUse& all = machines[own.machine];
    all.machine_bytes = own.machine_bytes;
    all.planned += own.planned;
    all.copy += own.copy;
  }
  for (const auto& [name, all] : machines)
    if (all.planned + all.copy > all.machine_bytes)
      return lack(fmt::format("on {}", name), all,
                  fmt::format("the machine has {:.4g} GiB", all.machine_bytes / kGib));
  return {};
}

std::string memory_shortage(comm::Communicator& world, const HostMemoryUse& own) {
  Packer message;
  message.add(own.machine);
  for (const auto number : kNumbers) message.add(std::bit_cast<std::int64_t>(own.*number));
  std::vector<HostMemoryUse> ranks;
  for (Unpacker all(gather_to_all(world, message)); !all.empty();) {
    HostMemoryUse& rank = ranks.emplace_back();
    rank.machine = all.text();
    for (const auto number : kNumbers) rank.*number = std::bit_cast<double>(all.number());
  }
  return memory_shortage(ranks);
}

}  // namespace penstock::runtime
