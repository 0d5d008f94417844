#include "configs/config_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "base/error.h"

// CMake's rules of installation (cmake/install.cmake) lay the folder at PENSTOCK_SHIPPED_CONFIGS
// from the program's own folder, such as ../share/penstock/0.3.0/configs. The version is in the
// path, so a program never reads the files of another version. A program in a folder of another
// name than PENSTOCK_PROGRAM_FOLDER, such as bin, is not installed. What lies near it may be
// anybody's, as near a build in /tmp, and is not read.

namespace penstock::configs {

std::filesystem::path config_folder() {
  if (const char* chosen = std::getenv("PENSTOCK_CONFIGS"); chosen != nullptr) return chosen;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path installed = installed_config_folder(program);
  return installed.empty() ? PENSTOCK_CONFIG_FOLDER : installed;
}

std::filesystem::path installed_config_folder(const std::filesystem::path& program) {
  if (program.parent_path().filename() != PENSTOCK_PROGRAM_FOLDER) return {};
  std::filesystem::path folder =
      (program.parent_path() / PENSTOCK_SHIPPED_CONFIGS).lexically_normal();
  std::error_code error;
  if (std::filesystem::is_directory(folder / "models", error)) return folder;
  throw ConfigError(
      fmt::format("{} is installed without its configurations: there is no folder {}; install "
                  "penstock again, move its whole prefix, or set PENSTOCK_CONFIGS to the folder "
                  "configs of its sources",
                  program.string(), (folder / "models").string()));
}

std::vector<std::string> names_in_config_folder(const char* subfolder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(config_folder() / subfolder, error))
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> model_names() { return names_in_config_folder("models"); }

}  // namespace penstock::configs
