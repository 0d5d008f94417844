#include "configs/config_folder.h"

#include <cstdlib>

namespace penstock::configs {

std::filesystem::path config_folder() {
  const char* chosen = std::getenv("PENSTOCK_CONFIGS");
  return chosen != nullptr ? chosen : PENSTOCK_CONFIG_FOLDER;
}

}  // namespace penstock::configs
