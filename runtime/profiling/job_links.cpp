#include "runtime/profiling/job_links.h"

#include "runtime/devices/rank_nodes.h"
#include "runtime/profiling/nccl_link.h"

namespace penstock::runtime {

OpenLink job_links(comm::Communicator& world, const RankDevice& device) {
  if (device.links != DeviceLinks::nccl) return host_links(world);
  return [&world, backend = device.backend.get()](int peer) {
    return open_nccl_link(world, *backend, peer);
  };
}

std::string_view name_of(DeviceLinks links) { return links == DeviceLinks::nccl ? "nccl" : "host"; }

std::string_view text_of(DeviceLinks links) {
  return links == DeviceLinks::nccl ? "device memory, over NCCL"
                                    : "host memory, by the ranks' own messages";
}

NeighbourSpeeds neighbour_speeds(const std::string& device, comm::Communicator& world) {
  configs::TrainerConfig config;
  config.device = device;
  const RankDevice own = choose_device(config, world);
  return {own.links, link_speeds(world, neighbours(world.size()), job_links(world, own),
                                 nodes_of(world).of_rank)};
}

}  // namespace penstock::runtime
