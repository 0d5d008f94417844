#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/key.h"
#include "configs/config.h"

namespace penstock::configs {

/// The first of `families`, and the defaults of config.h of all else.
[[nodiscard]] Config default_config(std::span<const layers::ModelFamily> families);

/// Every key in the order of config.h, those of the model's family behind the model's others; bound
/// to `config`, which must outlive the result. model.kind takes the names of `families`.
[[nodiscard]] std::vector<Key> keys(Config& config, std::span<const layers::ModelFamily> families);

/// The same where the family stays: model.kind takes its name alone.
[[nodiscard]] std::vector<Key> keys(Config& config);

/// Whether a run that resumes may have another value than the one it began with.
enum class OnResume {
  free,      // it may
  accepted,  // where trainer.accept names the key
  fixed,     // never: the checkpoint's tensors are of that value
};
[[nodiscard]] OnResume on_resume(const Key& key);

/// Why no run may change a fixed key.
[[nodiscard]] std::string_view why_fixed(std::string_view key);

/// The key of that name, or nothing.
[[nodiscard]] std::optional<Key> find_key(Config& config, std::string_view name);

}  // namespace penstock::configs
