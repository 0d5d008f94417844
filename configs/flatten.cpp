#include "configs/flatten.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "configs/named_keys.h"
#include "configs/schema.h"
#include "configs/value.h"

namespace penstock::configs {

// Keys point into a Config that they may change, so they are asked of a copy.
FlatConfig flatten(const Config& config) {
  Config copy = config;
  FlatConfig flat;
  for (const Key& key : keys(copy)) flat.emplace(key.name, value_text(key.value));
  return flat;
}

// The family comes first, as it decides which keys exist. A checkpoint of an earlier version may
// lack keys that came later, which keep their defaults, and may have others by their earlier names.
Config unflatten(const FlatConfig& flat, const std::string& name,
                 std::span<const layers::ModelFamily> families) {
  Config config = default_config(families);
  const auto kind = flat.find("model.kind");
  const auto* family = kind == flat.end() ? nullptr : layers::find_family(families, kind->second);
  if (family != nullptr) config.model.family = *family;
  const std::vector<Key> known = keys(config, families);
  std::string faults;
  for (const auto& [written, text] : flat) {
    const std::string key_name = current_name(written);
    const auto key = std::ranges::find(known, key_name, &Key::name);
    const auto wrong = key == known.end() ? "unknown key " + key_name : set_value(*key, text);
    if (wrong) faults += "\n  " + *wrong;
  }
  if (!faults.empty())
    throw ConfigError(fmt::format("{}: the configuration can't be used:{}", name, faults));
  return config;
}

std::vector<Difference> differences(const Config& before, const Config& after) {
  Config a = before, b = after;
  const std::vector<Key> keys_a = keys(a), keys_b = keys(b);
  std::vector<Difference> found;
  for (const Key& key : keys_a) {
    // Values are compared as text, which is exact: numbers have their shortest form. A key that
    // only one family has is no difference of its own.
    const auto other = std::ranges::find(keys_b, key.name, &Key::name);
    if (other == keys_b.end()) continue;
    std::string text_a = value_text(key.value), text_b = value_text(other->value);
    if (text_a != text_b)
      found.push_back(
          {std::string(key.name), std::move(text_a), std::move(text_b), on_resume(key)});
  }
  return found;
}

}  // namespace penstock::configs
