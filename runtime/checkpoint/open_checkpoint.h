#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/agree.h"
#include "comm/communicator.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/data/index/cache_folder.h"

namespace penstock::runtime {

/// Returns the folder of a checkpoint without checking its contents. `path` may be that folder
/// itself. It may also be an output folder; its newest checkpoint by number is taken, and
/// mislabelled ones are skipped with a warning. If `path` is the file BEST of an output folder, the
/// checkpoint that it names is taken. CheckpointError in all other cases.
[[nodiscard]] std::filesystem::path checkpoint_folder(const std::filesystem::path& path);

/// Opens a checkpoint for evaluation and verifies every byte. `name` is a path or a URL, as for
/// local_checkpoint(), which throws. CheckpointError if the checkpoint is broken or missing. Logs
/// warnings as newest() does.
[[nodiscard]] Checkpoint open_checkpoint(const std::filesystem::path& name);

/// Opens the newest checkpoint of an output folder of which every byte is verified, for resuming.
/// Broken checkpoints (other bytes, missing files) and mislabelled ones (see output_folder.h) are
/// skipped, and `report` logs why. Returns nothing if there are no checkpoints at all.
/// CheckpointError if there are some, but none is intact. FileError if one cannot be read, since it
/// may be intact. Logs a warning for each key that the opened checkpoint has under an earlier name
/// (renaming_notes()).
[[nodiscard]] std::optional<Checkpoint> newest(
    const std::filesystem::path& output, const std::function<void(const std::string&)>& report);

// The functions below open a checkpoint on all ranks, which call them together. Each rank verifies
// a share of it. Rank 0 throws the error of any rank; the others wait until this ends the job. A
// rank opens only the shards that it verifies or reads.

/// The conclusion from the failures of all ranks that opened their shares.
struct RankVerdict {
  std::string fault = {};   // first rank's error, with its number; "" if none
  bool unreadable = false;  // the checkpoint could not be read, but may be intact
};

/// Returns the conclusion, on rank 0. A file that rank 0 has and another rank lacks is not a fault
/// of the checkpoint: the ranks see different folders.
[[nodiscard]] RankVerdict verdict(const std::vector<comm::Failure>& failures);

/// Says how a checkpoint is opened.
struct Opening {
  Verified verified = Verified::all;
  CacheFolder cache = cache_folder();  // of what is downloaded
  std::function<void(const Checkpoint&)> check = [](const Checkpoint&) {};
};

/// Opens the checkpoint that local_checkpoint() finds for `name`, a path or a URL. When it is
/// verified, rank 0 calls `check` and warns of renamed keys. CheckpointError as described above.
[[nodiscard]] Checkpoint open_together(comm::Communicator& world, const std::filesystem::path& name,
                                       const Opening& how = {});

/// Opens the checkpoint that newest() would return. Rank 0 calls `report`.
[[nodiscard]] std::optional<Checkpoint> newest_together(
    comm::Communicator& world, const std::filesystem::path& output,
    const std::function<void(const std::string&)>& report);

}  // namespace penstock::runtime
