#pragma once

#include <filesystem>

#include "runtime/checkpoint/manifest.h"

namespace penstock::runtime {

/// Reads the manifest in a checkpoint's folder. CheckpointError that names the file.
[[nodiscard]] Manifest read_manifest(const std::filesystem::path& folder);

}  // namespace penstock::runtime
