#include <map>
#include <sstream>

#include "comm/collectives.h"
#include "layers/tensor/error.h"
#include "runtime/trainer/device.h"

namespace penstock {
namespace {

/// Of one device.
struct Demand {
  std::size_t planned = 0, free = 0;
  std::string ranks;
};

std::string mib(std::size_t bytes) { return std::to_string((bytes >> 20) + 1) + " MiB"; }

/// By name of the device.
std::map<std::string, Demand> demands(const std::string& all) {
  std::map<std::string, Demand> demands;
  std::istringstream lines(all);
  std::string place;
  for (int rank = 0; std::getline(lines, place, '\t'); ++rank) {
    Demand& demand = demands[place];
    std::size_t planned = 0;
    lines >> planned >> demand.free;
    lines.get();
    demand.planned += planned;
    demand.ranks += (demand.ranks.empty() ? "" : ", ") + std::to_string(rank);
  }
  return demands;
}

}  // namespace

void require_memory(const RankDevice& device, std::size_t planned, Communicator& world) {
  if (device.place.empty()) return;
  std::ostringstream own;
  own << device.place << '\t' << planned << ' ' << device.backend->free_memory() << '\n';
  std::string all;
  for (const std::string& line : gather(world, own.str())) all += line;
  std::string lacking;
  for (const auto& [place, demand] : demands(broadcast(world, all)))
    if (demand.planned > demand.free)
      lacking += (lacking.empty() ? "" : "; ") + std::string("the plan takes ") +
                 mib(demand.planned) + " of " + place + " (rank " + demand.ranks + "), which has " +
                 mib(demand.free) + " free";
  if (!lacking.empty())
    throw DeviceError(lacking +
                      ": take more stages, smaller micro-batches, or a plan for that "
                      "memory (penstock plan)");
}

}  // namespace penstock
