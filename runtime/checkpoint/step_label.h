#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runtime/checkpoint/output_folder.h"

namespace penstock::runtime {

// A checkpoint's folder is named for its step, and its manifest says the step as well. A folder
// whose name says another one is mislabelled: a copy, or a checkpoint of another run. It is never
// taken for the newest, never counts as one that is kept, and is never removed.

/// Why the folder's name is wrong. Empty if it is right, or if the manifest can't be read: whoever
/// opens the checkpoint says why.
[[nodiscard]] std::string mislabel(const StoredCheckpoint& stored);

/// As list_checkpoints(), without mislabelled ones, of which `report` is told as well.
[[nodiscard]] std::vector<StoredCheckpoint> list_labelled(
    const std::filesystem::path& output,
    const std::function<void(const std::string&)>& report = [](const std::string&) {});

/// Makes way for a checkpoint of that name: a mislabelled one, or a file, is renamed to
/// "<name>.mislabelled". CheckpointError.
void make_way(const StoredCheckpoint& stored);

/// For a run that goes on from `step`: renames mislabelled checkpoints to "<name>.mislabelled", and
/// later ones, which are broken, to "<name>.broken", so that none counts any more. Tells `note` of
/// each. CheckpointError.
void set_aside(const std::filesystem::path& output, std::int64_t step,
               const std::function<void(const std::string&)>& note);

}  // namespace penstock::runtime
