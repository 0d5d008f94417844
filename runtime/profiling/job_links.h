#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/devices/device.h"
#include "runtime/profiling/links/link_speeds.h"

namespace penstock::runtime {

/// Returns the links on which messages between the ranks' devices pass: device memory over NCCL if
/// `device` uses it, else host memory by the ranks' own messages. Both arguments must outlive the
/// result.
[[nodiscard]] OpenLink job_links(comm::Communicator& world, const RankDevice& device);

/// Names the kind of link: "nccl" or "host". text_of() describes it in words.
[[nodiscard]] std::string_view name_of(DeviceLinks links);
[[nodiscard]] std::string_view text_of(DeviceLinks links);

/// Speeds of the links between each rank and the next, and their kind. Links of one machine are
/// measured one pair at a time.
struct NeighbourSpeeds {
  DeviceLinks links = DeviceLinks::host;
  std::vector<LinkSpeed> speeds = {};
};

/// Measures with the device that trainer.device = `device` gives each rank. All ranks call this
/// together, and all get every speed. Throws like choose_device().
[[nodiscard]] NeighbourSpeeds neighbour_speeds(const std::string& device,
                                               comm::Communicator& world);

}  // namespace penstock::runtime
