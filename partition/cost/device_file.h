#pragma once

#include <filesystem>
#include <string>

#include "partition/cost/rated_device.h"

namespace penstock::partition {

/// A device as its file states it. `name` is the file's. ConfigError with all faults and their
/// lines.
[[nodiscard]] RatedDevice parse_device(const std::string& text, const std::string& name);

/// Of a file, or of that name in configs/devices. ConfigError where there is neither, with the
/// nearest name.
[[nodiscard]] RatedDevice read_device(const std::filesystem::path& file);

}  // namespace penstock::partition
