#pragma once

#include <filesystem>
#include <vector>

namespace penstock::runtime {

/// Returns the newest `count` checkpoints of an output folder, in the order of their steps.
/// CheckpointError if it has fewer.
[[nodiscard]] std::vector<std::filesystem::path> last_checkpoints(
    const std::filesystem::path& output, int count);

/// Returns the `count` checkpoints of an output folder that were best in validation, by its
/// metrics.jsonl, the best first. The metric is that of its mark BEST; without a mark, the rate of
/// word errors. Among equals the earlier one is better. CheckpointError if fewer of its checkpoints
/// were validated.
[[nodiscard]] std::vector<std::filesystem::path> best_checkpoints(
    const std::filesystem::path& output, int count);

}  // namespace penstock::runtime
