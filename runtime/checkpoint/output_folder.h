#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

// An output folder holds the checkpoints of a run. Each is a folder that is named after its step,
// which its manifest also states. If the two differ, the checkpoint is mislabelled: it is a copy,
// or from another run. It is never resumed, never counted among the kept ones, and never removed.

/// Name of the file of metrics in an output folder, see MetricsFile.
inline constexpr const char* kMetricsFile = "metrics.jsonl";

/// A checkpoint in an output folder, known by its name alone.
struct StoredCheckpoint {
  std::int64_t step = 0;
  std::filesystem::path folder;
};

/// Returns the name of a checkpoint's folder: "checkpoint-000000010".
[[nodiscard]] std::string checkpoint_name(std::int64_t step);

/// Returns the step in a checkpoint's name. Returns nothing for other names, including those of
/// unfinished saves.
[[nodiscard]] std::optional<std::int64_t> step_of_checkpoint(std::string_view name);

/// Returns the committed checkpoints of an output folder by ascending step, without checking their
/// contents. Returns none if there is no such folder. A file with a checkpoint's name is left out,
/// and `report` logs it. CheckpointError if the folder cannot be read.
[[nodiscard]] std::vector<StoredCheckpoint> list_checkpoints(
    const std::filesystem::path& output,
    const std::function<void(const std::string&)>& report = [](const std::string&) {});

/// Returns list_checkpoints() without mislabelled ones, which `report` logs.
[[nodiscard]] std::vector<StoredCheckpoint> list_labelled(
    const std::filesystem::path& output,
    const std::function<void(const std::string&)>& report = [](const std::string&) {});

/// Renames folder `from` to `to` and flushes the parent folder. If `to` exists, the old folder is
/// replaced and then removed as far as possible. If the file system can exchange names, `to` exists
/// at every moment. Otherwise a crash may leave it as "<to>.replaced". CheckpointError on failure.
void move_folder(const std::filesystem::path& from, const std::filesystem::path& to);

/// The ending of a folder that move_folder() was replacing when it died.
inline constexpr std::string_view kReplaced = ".replaced";
/// Gives such a folder its name back, or removes it if that name is taken. CheckpointError on
/// failure.
void restore_replaced(const std::filesystem::path& replaced);

/// Removes a folder. A crash leaves it whole or under the name "<name>.discarded". CheckpointError
/// on failure.
void discard_folder(const std::filesystem::path& folder);

/// Frees the name of a checkpoint: a mislabelled one or a file of that name is renamed to
/// "<name>.mislabelled". CheckpointError on failure.
void make_way(const StoredCheckpoint& stored);

/// Renames checkpoints that must not count in a run that resumes from `step`. Mislabelled ones
/// become "<name>.mislabelled". Later ones, which are broken, become "<name>.broken". `note` logs
/// each. CheckpointError on failure.
void set_aside(const std::filesystem::path& output, std::int64_t step,
               const std::function<void(const std::string&)>& note);

/// Throws CheckpointError if the output folder cannot be created or written, so that a run fails
/// before any work. It writes a file to find out and leaves no trace. The caller must hold the
/// folder's lock, since two runs would remove each other's file.
void probe_output(const std::filesystem::path& output);

/// Returns the path itself, or its nearest parent folder that exists.
[[nodiscard]] std::filesystem::path nearest_existing(const std::filesystem::path& path);

/// Removes `output` and the folders between it and `above` if they are empty.
void remove_empty_folders(const std::filesystem::path& output, const std::filesystem::path& above);

/// Creates the folder if it does not exist. Throws CheckpointError, which names a file that is in
/// the way.
void make_output(const std::filesystem::path& output);

}  // namespace penstock::runtime
