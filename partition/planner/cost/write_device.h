#pragma once

#include <string>

#include "partition/planner/cost/rated_device.h"

namespace penstock::partition {

/// Formats a device as read_device() reads it, with four significant digits.
[[nodiscard]] std::string device_toml(const RatedDevice& device);

}  // namespace penstock::partition
