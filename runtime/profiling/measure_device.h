#pragma once

#include "configs/config.h"
#include "partition/cost/rated_device.h"

namespace penstock::runtime {

/// What trainer.device achieves, by single layers of several sizes: rates of each class in each
/// format, and as its error by how far the sizes are from their mean, at most. A minute or two.
/// What can't be measured so is that of `like`: memory, multiprocessors, tile, slice, the cache's
/// size. DeviceError where there is no such device.
[[nodiscard]] partition::RatedDevice measure_device(const configs::TrainerConfig& device,
                                                    const partition::RatedDevice& like);

}  // namespace penstock::runtime
