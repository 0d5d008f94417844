#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "runtime/checkpoint/checkpoint.h"

namespace penstock::runtime {

/// Opens the newest checkpoint of an output folder of which every byte is verified, for resuming.
/// Broken checkpoints (other bytes, missing files) and mislabelled ones (see step_label.h) are
/// skipped, and `report` logs why. Returns nothing if there are no checkpoints at all.
/// CheckpointError if there are some, but none is intact. FileError if one cannot be read, since it
/// may be intact. Logs a warning for each key that the opened checkpoint has under an earlier name
/// (renaming_notes()).
[[nodiscard]] std::optional<Checkpoint> newest(
    const std::filesystem::path& output, const std::function<void(const std::string&)>& report);

/// Throws the CheckpointError for an output folder with `stored` checkpoints, none of which is
/// usable.
[[noreturn]] void throw_none_whole(const std::filesystem::path& output, std::size_t stored);

/// Returns the folder of a checkpoint without checking its contents. `path` may be that folder
/// itself. It may also be an output folder; its newest checkpoint by number is taken, and
/// mislabelled ones are skipped with a warning. If `path` is the file BEST of an output folder, the
/// checkpoint that it names is taken. CheckpointError in all other cases.
[[nodiscard]] std::filesystem::path checkpoint_folder(const std::filesystem::path& path);

/// Logs a warning for each key that the checkpoint's configuration has under an earlier name.
void warn_of_renamed_keys(const Checkpoint& checkpoint);

/// Opens a checkpoint for evaluation and verifies every byte. `path` is as for checkpoint_folder().
/// CheckpointError if the checkpoint is broken or missing. Logs warnings as newest() does.
[[nodiscard]] Checkpoint open_checkpoint(const std::filesystem::path& path);

}  // namespace penstock::runtime
