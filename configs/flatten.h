#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "configs/schema.h"

namespace penstock::configs {

/// Every key with its value as plain text, in the form that checkpoints store.
using FlatConfig = std::map<std::string, std::string>;

[[nodiscard]] FlatConfig flatten(const Config& config);

/// Returns the Config that flatten() took, to the bit; its model is of one of `families`. Missing
/// keys keep their defaults. ConfigError lists every unknown key and wrong value; `name` says in
/// the message where they come from.
Config unflatten(const FlatConfig& flat, const std::string& name,
                 std::span<const layers::ModelFamily> families);

/// One key whose values differ between two configurations.
struct Difference {
  std::string key, before, after;
  OnResume on_resume = OnResume::free;
  bool operator==(const Difference&) const = default;
};

/// Returns the keys that differ, in the order of the schema. If the model families differ,
/// model.kind is listed, but no key that only one family has.
[[nodiscard]] std::vector<Difference> differences(const Config& before, const Config& after);

}  // namespace penstock::configs
