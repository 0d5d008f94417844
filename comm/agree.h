#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/packing.h"
#include "comm/communicator.h"

namespace penstock::comm {

// Ranks that run one program must decide alike, also when one of them fails: a rank that throws
// while the others wait for its message stops the job. So an error becomes a value here, is sent,
// and is raised on all ranks or judged by rank 0. All ranks call these functions together.

/// An error as a value. Its type survives the journey if exit codes depend on it.
struct Failure {
  enum class Kind : char { none, config, data, checkpoint, file };

  Kind kind = Kind::none;
  std::string text = {};
  std::filesystem::path path = {};  // of a FileError
  int code = 0;                     // errno of a FileError

  explicit operator bool() const { return kind != Kind::none; }
  /// Returns true if a file is missing: see FileError::missing().
  bool missing() const;
  /// Returns true if the disk, or the user's share of it, is full.
  bool disk_full() const;
};

/// Runs `work` and returns its ConfigError, DataError, CheckpointError or FileError. Other errors
/// propagate.
[[nodiscard]] Failure failure_in(const std::function<void()>& work);

/// Throws the error that the failure describes, which must be one.
[[noreturn]] void raise(const Failure& failure);

void pack(const Failure& failure, Packer& message);
[[nodiscard]] Failure unpack_failure(Unpacker& from);

/// Returns the failures of all ranks on rank 0, by rank, and nothing on the other ranks.
[[nodiscard]] std::vector<Failure> gather(Communicator& world, const Failure& own);

/// Returns rank 0's answer on all ranks.
[[nodiscard]] bool answer_from_rank_0(Communicator& world, bool answer);

/// Runs `work` on rank 0 alone. All ranks raise an error that failure_in() returns. Any other error
/// is raised on rank 0 alone; the other ranks learn of it when rank 0 ends the job.
void run_on_rank_0(Communicator& world, const std::function<void()>& work);

}  // namespace penstock::comm
