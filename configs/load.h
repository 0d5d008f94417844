#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "configs/config.h"

namespace penstock::configs {

/// Returns the configuration of `file` (none if empty), with what it includes (include.h),
/// overridden by `overrides` ("key=value").
/// Its model is of one of `families`: the one that model.kind names, else the first. Keys that
/// neither names come from the model file that model.base names, else from the defaults of config.h
/// and of the family. If a key is overridden twice, the later value holds. Relative paths in the
/// file, such as those of manifests and of the output folder, are relative to the current
/// directory, as on the command line.
///
/// ConfigError lists every fault at once, each with file and line: unknown keys with the nearest
/// known one, wrong types, values out of range and keys that contradict each other.
Config load_config(const std::filesystem::path& file, std::span<const layers::ModelFamily> families,
                   std::span<const std::string> overrides = {});

/// Does the same for `text`, which messages call by `name`.
Config parse_config(const std::string& text, const std::string& name,
                    std::span<const layers::ModelFamily> families,
                    std::span<const std::string> overrides = {});

}  // namespace penstock::configs
