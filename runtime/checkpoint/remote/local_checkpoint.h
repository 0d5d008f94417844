#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/retention.h"
#include "runtime/data/index/cache_folder.h"

namespace penstock::runtime {

// Commands that read a checkpoint take its name: a path, or a URL. These functions turn the name
// into a folder on this machine. So nothing else that reads checkpoints knows of servers.

/// Returns the place of the checkpoint that `name` names, without checking its contents: a path as
/// for checkpoint_folder(), or the URL of a checkpoint, of a run, whose newest one is taken, or of
/// a run's BEST. What is at a URL is downloaded to the cache, unless it is there, and verified by
/// the manifest's hashes. CheckpointError if there is no such checkpoint, if it is damaged, or if a
/// server can't be reached or refuses. ConfigError for a URL that names no folder; FileError.
[[nodiscard]] CheckpointPlace local_checkpoint(const std::filesystem::path& name,
                                               const CacheFolder& cache = cache_folder());

/// A checkpoint by its step and a name that local_checkpoint() takes.
struct NamedCheckpoint {
  std::int64_t step = 0;
  std::filesystem::path name;
};

/// Returns the checkpoints of a run, oldest first: of an output folder or of its URL. Those that
/// are mislabelled are skipped with a warning. CheckpointError as above.
[[nodiscard]] std::vector<NamedCheckpoint> named_checkpoints(const std::filesystem::path& run);

/// Returns the text of metrics.jsonl of an output folder or of its URL; "" if there is none.
[[nodiscard]] std::string metrics_of(const std::filesystem::path& run);

/// Returns the mark of the best checkpoint of an output folder or of its URL; nothing if there is
/// none. CheckpointError if it is damaged.
[[nodiscard]] std::optional<BestCheckpoint> best_mark(const std::filesystem::path& run);

/// Returns a fault of a checkpoint. If the place is a copy of a URL, says what to do about it.
[[nodiscard]] std::string with_remedy(const CheckpointPlace& place, const std::string& fault);

}  // namespace penstock::runtime
