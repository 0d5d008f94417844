#pragma once

#include <map>
#include <string>
#include <vector>

#include "configs/config.h"

namespace penstock {

/// Every key with its value as plain text, as checkpoints keep it.
using FlatConfig = std::map<std::string, std::string>;

FlatConfig flatten(const Config& config);

/// The Config that flatten() took apart, to the bit. Keys that are missing keep their defaults.
/// ConfigError lists every unknown key and wrong value; `name` says whose they are.
Config unflatten(const FlatConfig& flat, const std::string& name);

/// A key that two configurations set differently.
struct Difference {
  std::string key, before, after;
  bool kept = false;  // a run that resumes must not change it
  bool operator==(const Difference&) const = default;
};

/// In the order of the schema.
std::vector<Difference> differences(const Config& before, const Config& after);

}  // namespace penstock
