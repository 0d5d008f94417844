#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "base/error.h"
#include "comm/collectives.h"
#include "runtime/devices/device.h"
#include "runtime/job/packing.h"

// Ranks that share a device each see the same free memory, so they would all find that their own
// plan fits. The demands are therefore added up for each device. Ranks on CPUs take no part: their
// place is empty.

namespace penstock::runtime {
namespace {

/// The demand for memory of one device.
struct Demand {
  std::size_t planned = 0, free = 0, count = 0;  // sums over its ranks; `free` is the device's
  std::string ranks;

  std::size_t for_each() const { return free / count; }
};

std::string mib(std::size_t bytes) { return fmt::format("{} MiB", (bytes >> 20) + 1); }

/// Returns the demands by the device's name. The ranks of a device measure the same free memory, up
/// to what changes meanwhile. The last one's counts.
std::map<std::string, Demand> demands(Unpacker all) {
  std::map<std::string, Demand> demands;
  for (int rank = 0; !all.empty(); ++rank) {
    Demand& demand = demands[all.text()];
    demand.planned += static_cast<std::size_t>(all.number());
    demand.free = static_cast<std::size_t>(all.number());
    ++demand.count;
    demand.ranks += fmt::format("{}{}", demand.ranks.empty() ? "" : ", ", rank);
  }
  return demands;
}

}  // namespace

// All ranks gather the same demands, so all throw or none. The advice is a search for a plan, which
// may take long, so rank 0 alone makes it.
void require_memory(const RankDevice& device, std::size_t planned, comm::Communicator& world,
                    const MemoryAdvice& advice) {
  if (device.place.empty()) return;
  Packer own;
  own.add(device.place);
  own.add(static_cast<std::int64_t>(planned));
  own.add(static_cast<std::int64_t>(device.backend->free_memory()));
  std::string lacking;
  std::size_t for_each = std::numeric_limits<std::size_t>::max();
  for (const auto& [place, demand] : demands(Unpacker(gather_to_all(world, own)))) {
    for_each = std::min(for_each, demand.for_each());
    if (demand.planned > demand.free)
      lacking += fmt::format("{}the plan takes {} of {} (rank {}), which has {} free",
                             lacking.empty() ? "" : "; ", mib(demand.planned), place, demand.ranks,
                             mib(demand.free));
  }
  if (lacking.empty()) return;
  const std::string fits =
      comm::broadcast(world, std::string(world.rank() == 0 && advice ? advice(for_each) : ""));
  const std::string found = fits.empty()
                                ? " (penstock plan)"
                                : fmt::format(". The search for such a plan found: {}", fits);
  throw DeviceError(fmt::format(
      "{}: take more stages, smaller micro-batches, or a plan for that memory{}", lacking, found));
}

}  // namespace penstock::runtime
