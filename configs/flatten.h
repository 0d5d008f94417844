#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "configs/schema.h"

namespace penstock::configs {

/// Every key with its value as plain text, as checkpoints keep it.
using FlatConfig = std::map<std::string, std::string>;

[[nodiscard]] FlatConfig flatten(const Config& config);

/// The Config that flatten() took apart, to the bit, its model of one of `families`. Keys that are
/// missing keep their defaults. ConfigError lists every unknown key and wrong value; `name` says
/// whose they are.
Config unflatten(const FlatConfig& flat, const std::string& name,
                 std::span<const layers::ModelFamily> families);

/// A key that two configurations set differently.
struct Difference {
  std::string key, before, after;
  OnResume on_resume = OnResume::free;
  bool operator==(const Difference&) const = default;
};

/// In the order of the schema. Of models of different families, model.kind differs, and no key that
/// only one of them has.
[[nodiscard]] std::vector<Difference> differences(const Config& before, const Config& after);

}  // namespace penstock::configs
