#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "comm/communicator.h"
#include "runtime/checkpoint/checkpoint.h"

namespace penstock::runtime {

// A checkpoint for all ranks, which call these together. Each verifies a share of it; rank 0 raises
// what any of them finds, and the others wait for the end that this brings. A rank opens the shards
// that it verifies or reads, and no others.

/// `path` is a checkpoint's folder or an output folder, of which the newest by number is taken.
/// Rank 0 calls `check` once all is well, and warns of renamed keys. CheckpointError.
[[nodiscard]] Checkpoint open_together(
    comm::Communicator& world, const std::filesystem::path& path, Verified verified = Verified::all,
    const std::function<void(const Checkpoint&)>& check = [](const Checkpoint&) {});

/// As newest(), which rank 0 calls with `report`.
[[nodiscard]] std::optional<Checkpoint> newest_together(
    comm::Communicator& world, const std::filesystem::path& output,
    const std::function<void(const std::string&)>& report);

}  // namespace penstock::runtime
