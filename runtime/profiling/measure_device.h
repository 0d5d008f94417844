#pragma once

#include "configs/config.h"
#include "partition/planner/cost/rated_device.h"

namespace penstock::runtime {

/// Measures the rates of trainer.device with single layers of several sizes, for each class of cost
/// in each format. A class's error is the largest deviation of a size from the mean, and at least a
/// tenth. Takes a minute or two. Numbers that can't be measured this way are copied from `like`:
/// memory, multiprocessors, tile, slice, and the cache's size. Each layer is repeated for at least
/// `min_s` seconds. Throws DeviceError if there is no such device.
[[nodiscard]] partition::RatedDevice measure_device(const configs::TrainerConfig& device,
                                                    const partition::RatedDevice& like,
                                                    double min_s = 0.2);

}  // namespace penstock::runtime
