#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace penstock::tools {

/// Returns what `penstock watch` shows of the run in this output folder: progress, loss, speed,
/// ranks beside their plan, and the last incidents. A run without a supervisor has no ranks and no
/// incidents. `columns` is the width of the terminal. CheckpointError or FileError if the folder
/// holds no run.
[[nodiscard]] std::string run_overview(const std::filesystem::path& output, std::size_t columns);

}  // namespace penstock::tools
