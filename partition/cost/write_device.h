#pragma once

#include <string>

#include "partition/cost/rated_device.h"

namespace penstock::partition {

/// The device as read_device() takes it, with numbers of four digits.
[[nodiscard]] std::string device_toml(const RatedDevice& device);

}  // namespace penstock::partition
