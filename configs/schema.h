#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/key.h"
#include "configs/config.h"

namespace penstock::configs {

/// Returns the defaults of config.h, with the first of `families`.
[[nodiscard]] Config default_config(std::span<const layers::ModelFamily> families);

/// Returns every key in the order of config.h; the keys of the model's family follow the model's
/// others. They point into `config`, which must outlive the result. model.kind takes the names of
/// `families`.
[[nodiscard]] std::vector<Key> keys(Config& config, std::span<const layers::ModelFamily> families);

/// Returns the same keys for a fixed family: model.kind takes its name alone.
[[nodiscard]] std::vector<Key> keys(Config& config);

/// Says if a run that resumes may have another value than the run that it continues.
enum class OnResume {
  free,      // it may
  accepted,  // only if trainer.accept names the key
  fixed,     // never: the checkpoint's tensors depend on it
};
[[nodiscard]] OnResume on_resume(const Key& key);

/// Returns the reason for which no run may change a fixed key.
[[nodiscard]] std::string_view why_fixed(std::string_view key);

/// Returns the key of that name, if there is one.
[[nodiscard]] std::optional<Key> find_key(Config& config, std::string_view name);

}  // namespace penstock::configs
