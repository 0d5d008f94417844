#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runtime/checkpoint/output_folder.h"

namespace penstock::runtime {

// A checkpoint's folder is named after its step, which its manifest also states. If the two differ,
// the checkpoint is mislabelled: it is a copy, or from another run. It is never resumed, never
// counted among the kept ones, and never removed.

/// Returns why the folder's name is wrong. Returns an empty text if the name is right, or if the
/// manifest cannot be read. Opening the checkpoint reports the latter.
[[nodiscard]] std::string label_error(const StoredCheckpoint& stored);

/// Returns list_checkpoints() without mislabelled ones, which `report` logs.
[[nodiscard]] std::vector<StoredCheckpoint> list_labelled(
    const std::filesystem::path& output,
    const std::function<void(const std::string&)>& report = [](const std::string&) {});

/// Frees the name of a checkpoint: a mislabelled one or a file of that name is renamed to
/// "<name>.mislabelled". CheckpointError on failure.
void make_way(const StoredCheckpoint& stored);

/// Renames checkpoints that must not count in a run that resumes from `step`. Mislabelled ones
/// become "<name>.mislabelled". Later ones, which are broken, become "<name>.broken". `note` logs
/// each. CheckpointError on failure.
void set_aside(const std::filesystem::path& output, std::int64_t step,
               const std::function<void(const std::string&)>& note);

}  // namespace penstock::runtime
