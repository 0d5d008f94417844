#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "comm/communicator.h"
#include "runtime/checkpoint/checkpoint.h"

namespace penstock::runtime {

// These functions open a checkpoint on all ranks, which call them together. Each rank verifies a
// share of it. Rank 0 throws the error of any rank; the others wait until this ends the job. A rank
// opens only the shards that it verifies or reads.

/// Opens the checkpoint that checkpoint_folder() finds for `path`. When it is verified, rank 0
/// calls `check` and warns of renamed keys. CheckpointError as described above.
[[nodiscard]] Checkpoint open_together(
    comm::Communicator& world, const std::filesystem::path& path, Verified verified = Verified::all,
    const std::function<void(const Checkpoint&)>& check = [](const Checkpoint&) {});

/// Opens the checkpoint that newest() would return. Rank 0 calls `report`.
[[nodiscard]] std::optional<Checkpoint> newest_together(
    comm::Communicator& world, const std::filesystem::path& output,
    const std::function<void(const std::string&)>& report);

}  // namespace penstock::runtime
