#include "runtime/checkpoint/remote/remote_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "runtime/data/index/cache_folder.h"
#include "runtime/data/index/stream_hash.h"

namespace penstock::runtime {

// The folder is no part of what data.cache_gib limits: it holds checkpoints that may not be
// uploaded yet.
std::filesystem::path local_output(const configs::Config& config) {
  const std::string& output = config.trainer.output;
  if (!is_store_url(output)) return output;
  const StoreUrl url = parse_store_url(output);
  const CacheFolder cache = cache_folder(config.data.cache);
  if (cache.path.empty())
    throw ConfigError(
        fmt::format("trainer.output = {} needs a folder on this machine for its checkpoints: name "
                    "one in data.cache, or set HOME",
                    output));
  const std::filesystem::path last = std::filesystem::path(url.text()).filename();
  return cache.path / "runs" / fmt::format("{}-{:016x}", last.string(), hash_of(url.text()));
}

std::optional<StoreUrl> remote_output(const configs::Config& config) {
  const configs::TrainerConfig& trainer = config.trainer;
  const bool remote = is_store_url(trainer.output);
  if (remote && !trainer.mirror.empty())
    throw ConfigError(
        "trainer.output is in a store already, so trainer.mirror must be empty: leave it out");
  if (remote) return parse_store_url(trainer.output);
  if (trainer.mirror.empty()) return std::nullopt;
  return parse_store_url(trainer.mirror);
}

}  // namespace penstock::runtime
