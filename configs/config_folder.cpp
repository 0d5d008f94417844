#include "configs/config_folder.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>

namespace penstock::configs {

std::filesystem::path config_folder() {
  const char* chosen = std::getenv("PENSTOCK_CONFIGS");
  return chosen != nullptr ? chosen : PENSTOCK_CONFIG_FOLDER;
}

std::vector<std::string> names_in_config_folder(const char* subfolder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(config_folder() / subfolder, error))
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

}  // namespace penstock::configs
