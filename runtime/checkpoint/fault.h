#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"

namespace penstock::runtime {

/// CheckpointError "<path>: <reason>".
[[noreturn]] inline void throw_fault(const std::filesystem::path& path, const std::string& reason) {
  throw CheckpointError(path.string() + ": " + reason);
}

}  // namespace penstock::runtime
