#pragma once

#include <filesystem>
#include <optional>

#include "configs/config.h"
#include "runtime/store/store_url.h"

namespace penstock::runtime {

/// Returns the folder on this machine in which a run writes: trainer.output. If that is a URL of a
/// store, returns a folder in the cache (data.cache) that is named after the URL. ConfigError if
/// there is no cache.
[[nodiscard]] std::filesystem::path local_output(const configs::Config& config);

/// Returns the place in a store to which a run's checkpoints go: trainer.output if it is a URL,
/// else trainer.mirror; nothing without either. ConfigError if both are set, or if one is no URL.
[[nodiscard]] std::optional<StoreUrl> remote_output(const configs::Config& config);

}  // namespace penstock::runtime
