#pragma once

#include <filesystem>
#include <string>

#include "base/file_handle.h"

namespace penstock::runtime {

/// An output folder for one run alone: two would remove each other's unfinished checkpoints. Holds
/// from construction to the object's end or the process's, however it dies. Makes the folder, and
/// takes it away again if nothing else was put there.
class [[nodiscard]] OutputLock {
 public:
  /// CheckpointError naming the holder if another run has the folder, or the lock's file if that is
  /// a link. Where the file system has no locks, a warning is logged and nothing is held.
  explicit OutputLock(const std::filesystem::path& output);
  OutputLock(const OutputLock&) = delete;
  OutputLock& operator=(const OutputLock&) = delete;
  ~OutputLock();

  /// What no other lock's file says: whoever reads it there sees the same folder.
  const std::string& token() const { return token_; }

  /// The file that is locked.
  static std::filesystem::path file_of(const std::filesystem::path& output);

 private:
  std::filesystem::path output_, above_;  // above_: what was there before
  FileHandle file_;
  std::string token_;
};

}  // namespace penstock::runtime
