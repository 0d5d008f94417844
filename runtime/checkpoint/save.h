#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/passthrough_parts.h"
#include "runtime/checkpoint/shard.h"
#include "runtime/checkpoint/training_state.h"

namespace penstock::runtime {

/// Removes the remains of interrupted saves and removals from the output folder. CheckpointError on
/// failure.
void remove_dead_saves(const std::filesystem::path& output);

/// Begins a save, on rank 0. Removes the remains of interrupted saves and removals, and creates the
/// folder to which every rank then calls write_shard(). CheckpointError on failure.
[[nodiscard]] std::filesystem::path start_save(const std::filesystem::path& output,
                                               std::int64_t step);

/// Completes a folder that holds the shards of a checkpoint. Kept parts of an imported model are
/// written. The bytes of text.model, if there are any, are written as a file, and their hash is
/// stored in the state. Then the pieces of every tensor must cover it exactly once, and the
/// manifest is written. CheckpointError on failure.
void complete_folder(const std::filesystem::path& folder, const TrainingState& state,
                     std::vector<ShardIndex> shards, std::string_view tokenizer = {},
                     const PassthroughParts& kept = {});

/// Completes a save, on rank 0, when every rank's shard is on the disk: calls complete_folder() and
/// renames the folder of start_save() to its final name. A checkpoint of the same step is replaced;
/// anything else of its name is renamed, see make_way(). Returns the checkpoint's folder.
/// CheckpointError on failure; earlier checkpoints are then unchanged.
std::filesystem::path commit(const std::filesystem::path& folder, const TrainingState& state,
                             std::vector<ShardIndex> shards, std::string_view tokenizer = {},
                             const PassthroughParts& kept = {});

/// Writes the file LATEST, a hint for people, beside the checkpoint. CheckpointError on failure.
void mark_latest(const std::filesystem::path& checkpoint);

/// Removes the folder of a failed save as far as possible.
void abandon_save(const std::filesystem::path& folder) noexcept;

}  // namespace penstock::runtime
