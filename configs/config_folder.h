#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace penstock::configs {

// The configurations that penstock ships are files in a folder with models/, recipes/, clusters/
// and devices/. An installation may be moved as a whole, so its folder is found from the place of
// the program.

/// Returns that folder: $PENSTOCK_CONFIGS if it is set, else that of the installation to which this
/// program belongs, else the one in the source tree of the build. Throws ConfigError as
/// installed_config_folder() does.
[[nodiscard]] std::filesystem::path config_folder();

/// Returns the folder of the installation whose program is `program`, a path without symbolic
/// links. It is empty for a program in another folder than that of installed ones, bin/, as in its
/// build folder. Throws ConfigError if the program is in bin/ and the folder is missing.
[[nodiscard]] std::filesystem::path installed_config_folder(const std::filesystem::path& program);

/// Returns the names of the TOML files in one of its folders, such as "models", without the ending
/// and sorted.
[[nodiscard]] std::vector<std::string> names_in_config_folder(const char* subfolder);

/// Returns the names that model.base takes: the files of models/, sorted.
[[nodiscard]] std::vector<std::string> model_names();

}  // namespace penstock::configs
