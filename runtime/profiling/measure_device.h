#pragma once

#include "configs/config.h"
#include "partition/cost/rated_device.h"

namespace penstock::runtime {

/// What trainer.device achieves, by single layers of several sizes: rates of each class in each
/// format, and as its error by how far the sizes are from their mean, a tenth at least. A minute or
/// two. What can't be measured so is that of `like`: memory, multiprocessors, tile, slice, the
/// cache's size. Each layer is repeated for at least so many seconds. DeviceError where there is no
/// such device.
[[nodiscard]] partition::RatedDevice measure_device(const configs::TrainerConfig& device,
                                                    const partition::RatedDevice& like,
                                                    double least_s = 0.2);

}  // namespace penstock::runtime
