#include "configs/named_keys.h"

#include <vector>

#include "configs/source.h"

namespace penstock {

std::set<std::string> named_keys(const std::filesystem::path& file,
                                 std::span<const std::string> overrides) {
  std::vector<std::string> faults;
  std::set<std::string> names;
  if (!file.empty())
    for (const Setting& setting :
         settings_of_toml(file_text(file).value_or(""), file.string(), faults))
      names.insert(setting.key);
  for (const Setting& setting : settings_of_overrides(overrides, faults)) names.insert(setting.key);
  return names;
}

}  // namespace penstock
