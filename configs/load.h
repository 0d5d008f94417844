#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "configs/config.h"

namespace penstock::configs {

/// The configuration of `file` (none if empty) with `overrides` ("key=value") laid over it; its
/// model is of one of `families`, the first where model.kind is not named. What neither names comes
/// from the model that model.base names, else from the defaults of config.h and of the family.
/// Of a key overridden twice the later value holds. Relative paths inside the file, of manifests
/// and of the output folder, are relative to the current directory, as on the command line.
/// ConfigError lists every fault at once: unknown keys with the nearest known one, wrong types,
/// values out of range and keys that contradict each other, each with file and line.
Config load_config(const std::filesystem::path& file, std::span<const layers::ModelFamily> families,
                   std::span<const std::string> overrides = {});

/// The same for text that stands for a file of that name.
Config parse_config(const std::string& text, const std::string& name,
                    std::span<const layers::ModelFamily> families,
                    std::span<const std::string> overrides = {});

/// Names that model.base takes: the files of configs/models/, sorted.
[[nodiscard]] std::vector<std::string> model_names();

}  // namespace penstock::configs
