#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.h"
#include "layers/backend.h"
#include "runtime/devices/device.h"
#include "runtime/profiling/links/link_end.h"
#include "runtime/profiling/links/link_speeds.h"

namespace penstock::runtime {

/// Opens this rank's end of a link between device memories, over NCCL edges as a pipeline of these
/// two ranks of `world` has them, one per direction. Messages go in the device's order, so the host
/// does not wait between them. The link's computation is matrix products. The peer must call this
/// too. `world` and `backend` must outlive the result. Throws CommError like make_nccl().
[[nodiscard]] std::unique_ptr<LinkEnd> open_nccl_link(comm::Communicator& world,
                                                      layers::Backend& backend, int peer);

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
