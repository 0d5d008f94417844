#include "configs/flatten.h"

#include "base/error.h"
#include "configs/renamed_keys.h"
#include "configs/value.h"

namespace penstock {

FlatConfig flatten(const Config& config) {
  Config copy = config;
  FlatConfig flat;
  for (const Key& key : keys(copy)) flat.emplace(key.name, value_text(key.value));
  return flat;
}

Config unflatten(const FlatConfig& flat, const std::string& name) {
  Config config;
  std::string faults;
  for (const auto& [written, text] : flat) {
    const std::string key_name = current_name(written);
    const auto key = find_key(config, key_name);
    const auto wrong = key ? set_value(*key, text) : "unknown key " + key_name;
    if (wrong) faults += "\n  " + *wrong;
  }
  if (!faults.empty()) throw ConfigError(name + ": the configuration can't be used:" + faults);
  return config;
}

std::vector<Difference> differences(const Config& before, const Config& after) {
  Config a = before, b = after;
  const std::vector<Key> keys_a = keys(a), keys_b = keys(b);
  std::vector<Difference> found;
  for (std::size_t i = 0; i < keys_a.size(); ++i) {
    std::string text_a = value_text(keys_a[i].value), text_b = value_text(keys_b[i].value);
    if (text_a != text_b) {
      found.push_back(
          {std::string(keys_a[i].name), std::move(text_a), std::move(text_b), keys_a[i].kept()});
    }
  }
  return found;
}

}  // namespace penstock
