#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "runtime/checkpoint/remote/remote_run.h"

namespace penstock::runtime {

using RemoteNote = std::function<void(const std::string&)>;

/// Downloads a checkpoint into an output folder and verifies every byte by the manifest's hashes.
/// It gets its name there when it is whole. Returns its folder. Throws StoreError, of kind
/// `missing` if it is gone; CheckpointError if it is broken; FileError.
std::filesystem::path download_checkpoint(RemoteRun& run, const RemoteCheckpoint& checkpoint,
                                          const std::filesystem::path& output);

/// Brings the newest whole checkpoint of the store into an output folder whose own are all older or
/// missing. Brings the best one and metrics.jsonl too, if the folder lacks them. `note` logs what
/// is done. Throws StoreError and FileError. CheckpointError if the store has newer checkpoints,
/// none of which is whole, and the folder has none.
void fetch_newest(RemoteRun& run, const std::filesystem::path& output, const RemoteNote& note);

/// Throws CheckpointError if the store holds checkpoints, which a run that begins anew would mix
/// with its own.
void require_no_checkpoints(RemoteRun& run);

}  // namespace penstock::runtime
