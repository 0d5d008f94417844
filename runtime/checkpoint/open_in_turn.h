#pragma once

#include <filesystem>
#include <functional>

#include "comm/communicator.h"
#include "runtime/checkpoint/checkpoint.h"

namespace penstock::runtime {

/// open_checkpoint() for all ranks, which call it together. Rank 0 verifies every byte and then
/// calls `check`, so that a fault is said once; the others open the same checkpoint behind that.
[[nodiscard]] Checkpoint open_in_turn(
    comm::Communicator& world, const std::filesystem::path& path,
    const std::function<void(const Checkpoint&)>& check = [](const Checkpoint&) {});

}  // namespace penstock::runtime
