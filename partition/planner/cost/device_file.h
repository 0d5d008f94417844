#pragma once

#include <filesystem>
#include <string>

#include "partition/planner/cost/rated_device.h"

namespace penstock::partition {

/// Parses a device file. `name` is the file's name. Throws ConfigError with all faults and their
/// lines.
[[nodiscard]] RatedDevice parse_device(const std::string& text, const std::string& name);

/// Reads a device from a file, or by its name in configs/devices. Throws ConfigError, with the
/// nearest name, if neither exists.
[[nodiscard]] RatedDevice read_device(const std::filesystem::path& file);

/// Formats a device as read_device() reads it, with four significant digits.
[[nodiscard]] std::string device_toml(const RatedDevice& device);

}  // namespace penstock::partition
