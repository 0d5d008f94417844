#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "configs/config.h"
#include "configs/key.h"

namespace penstock::configs {

/// The first of `families`, and the defaults of config.h of all else.
Config default_config(std::span<const ModelFamily> families);

/// Every key in the order of config.h, those of the model's family behind the model's others; bound
/// to `config`, which must outlive the result. model.kind takes the names of `families`.
std::vector<Key> keys(Config& config, std::span<const ModelFamily> families);

/// The same where the family stays: model.kind takes its name alone.
std::vector<Key> keys(Config& config);

/// The key of that name, or nothing.
std::optional<Key> find_key(Config& config, std::string_view name);

}  // namespace penstock::configs
