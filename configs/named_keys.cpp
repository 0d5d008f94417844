#include "configs/named_keys.h"

#include <vector>

#include "configs/source.h"

namespace penstock::configs {

std::set<std::string> named_keys(const std::filesystem::path& file,
                                 std::span<const std::string> overrides) {
  std::vector<std::string> faults;
  std::set<std::string> names;
  for (const Setting& setting : settings_of(file, overrides, faults)) names.insert(setting.key);
  return names;
}

}  // namespace penstock::configs
