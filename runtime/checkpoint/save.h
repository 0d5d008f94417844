#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/kept_parts.h"
#include "runtime/checkpoint/shard.h"
#include "runtime/checkpoint/training_state.h"

namespace penstock::runtime {

/// Removes what dead saves and dead removals left in the output folder. CheckpointError.
void remove_dead_saves(const std::filesystem::path& output);

/// Begins a save, on rank 0: removes what dead saves and dead removals left in the output folder,
/// and makes the folder to which every rank then calls write_shard. CheckpointError.
[[nodiscard]] std::filesystem::path start_save(const std::filesystem::path& output,
                                               std::int64_t step);

/// Ends a save, on rank 0, when every rank's shard is on the disk: checks that the pieces of every
/// tensor cover it exactly once, writes the manifest, and gives the folder of start_save its name.
/// The bytes of text.model, if there are any, become a file of it, and the state's hash is of them.
/// What is kept of an imported model is written too.
/// A checkpoint of the same step is replaced; what else has its name is renamed, see make_way().
/// Returns the checkpoint's folder. CheckpointError; then earlier checkpoints are as they were.
std::filesystem::path commit(const std::filesystem::path& folder, const TrainingState& state,
                             std::vector<ShardIndex> shards, std::string_view tokenizer = {},
                             const KeptParts& kept = {});

/// Writes LATEST, a hint for people, beside the checkpoint. CheckpointError.
void mark_latest(const std::filesystem::path& checkpoint);

/// Removes the folder of a save that some rank could not finish, as far as possible.
void abandon_save(const std::filesystem::path& folder) noexcept;

}  // namespace penstock::runtime
