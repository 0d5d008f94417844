#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "comm/link_speeds.h"
#include "runtime/devices/device.h"

namespace penstock::runtime {

/// Links as what lies on the ranks' devices passes between them: device memory over NCCL where
/// `device` sends over it, else host memory by the ranks' own messages. Both arguments must outlive
/// it.
[[nodiscard]] comm::OpenLink job_links(comm::Communicator& world, const RankDevice& device);

/// What job_links() measures: "nccl" or "host"; and in words.
[[nodiscard]] std::string_view name_of(DeviceLinks links);
[[nodiscard]] std::string_view text_of(DeviceLinks links);

/// Of every rank and the next, one pair of a machine at a time, and what was measured.
struct NeighbourSpeeds {
  DeviceLinks links = DeviceLinks::host;
  std::vector<comm::LinkSpeed> speeds = {};
};

/// On the device that trainer.device = `device` gives each rank. Every rank calls it, and gets all.
/// Errors as of choose_device().
[[nodiscard]] NeighbourSpeeds neighbour_speeds(const std::string& device,
                                               comm::Communicator& world);

}  // namespace penstock::runtime
