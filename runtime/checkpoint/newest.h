#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "runtime/checkpoint/checkpoint.h"

namespace penstock::runtime {

/// For resuming: the newest checkpoint of an output folder whose every byte is verified. Broken
/// ones (other bytes, missing files) and mislabelled ones (see step_label.h) are passed over, and
/// `report` is told of each why. Nothing if there are no checkpoints at all; CheckpointError if
/// there are but none is whole; FileError if one can't be read, which may be whole. Of the opened
/// one, a warning is logged for each key that its configuration has by an earlier name
/// (renaming_notes()).
[[nodiscard]] std::optional<Checkpoint> newest(
    const std::filesystem::path& output, const std::function<void(const std::string&)>& report);

/// Raises the CheckpointError of an output folder with so many checkpoints of which none will do.
[[noreturn]] void throw_none_whole(const std::filesystem::path& output, std::size_t stored);

/// The folder of a checkpoint: `path` itself, or that of an output folder's newest by number, but
/// for mislabelled ones, of which a warning is logged. Where `path` is an output folder's file
/// BEST, that of the checkpoint that it names. CheckpointError if it is neither. Whether it is
/// whole is not looked at.
[[nodiscard]] std::filesystem::path checkpoint_folder(const std::filesystem::path& path);

/// Logs a warning for each key that the checkpoint's configuration has by an earlier name.
void warn_of_renamed_keys(const Checkpoint& checkpoint);

/// For evaluation: `path` is a checkpoint's folder or an output folder, of which the newest by
/// number is taken, and every byte is verified. CheckpointError if it is broken or there is none.
/// Logs as newest().
[[nodiscard]] Checkpoint open_checkpoint(const std::filesystem::path& path);

}  // namespace penstock::runtime
