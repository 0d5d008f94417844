#pragma once

#include <filesystem>
#include <string>

namespace penstock::runtime {

/// Throws CheckpointError "<path>: <reason>".
[[noreturn]] void throw_fault(const std::filesystem::path& path, const std::string& reason);

}  // namespace penstock::runtime
