#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace penstock::runtime {

// Room on the disk for a run's checkpoints. While the newest is written, the `keep` before it are
// there as well, and the best besides where it is older than those.

/// What a run asks of the file system that holds its output folder.
struct CheckpointRoom {
  std::uint64_t bytes = 0;  // of one checkpoint, at most
  int keep = 1;             // trainer.keep
};

/// Refuses a file system without room for `keep` + 1 checkpoints, of which those that are stored
/// count as written. CheckpointError that says how many bytes are missing where, and what
/// trainer.keep would do.
void require_room(const std::filesystem::path& output, const CheckpointRoom& room);

/// For a save that found no room: removes the oldest checkpoint that is neither the best nor
/// mislabelled, once every byte of a newer one is verified. Returns the folder that is gone;
/// nothing if none may go. CheckpointError if it can't be removed.
[[nodiscard]] std::optional<std::filesystem::path> make_room(const std::filesystem::path& output);

}  // namespace penstock::runtime
