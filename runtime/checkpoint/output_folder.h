#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// A checkpoint of an output folder, by its name alone.
struct StoredCheckpoint {
  std::int64_t step = 0;
  std::filesystem::path folder;
};

/// "checkpoint-000000010".
[[nodiscard]] std::string checkpoint_name(std::int64_t step);

/// The step in a checkpoint's name; nothing for other names, those of dead saves included.
[[nodiscard]] std::optional<std::int64_t> step_of_checkpoint(std::string_view name);

/// The committed checkpoints of an output folder by rising step; none if there is no such folder.
/// Their contents are not looked at. What has a checkpoint's name but is no folder is left out, and
/// `report` is told. CheckpointError if the folder can't be read.
[[nodiscard]] std::vector<StoredCheckpoint> list_checkpoints(
    const std::filesystem::path& output,
    const std::function<void(const std::string&)>& report = [](const std::string&) {});

/// Refuses, before any work is done, an output path that can't be made or written, which it tries
/// by writing. Leaves no trace. Whoever calls this holds the folder's lock, since two runs would
/// remove each other's file. CheckpointError.
void probe_output(const std::filesystem::path& output);

/// The path itself, or the nearest above it that exists.
[[nodiscard]] std::filesystem::path nearest_existing(const std::filesystem::path& path);

/// Removes `output` and the folders between it and `above`, as far as they are empty.
void remove_empty_folders(const std::filesystem::path& output, const std::filesystem::path& above);

/// Makes the folder if it does not exist. CheckpointError, which names a file that is in the way.
void make_output(const std::filesystem::path& output);

}  // namespace penstock::runtime
