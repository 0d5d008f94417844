#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/file_handle.h"

namespace penstock::runtime {

inline constexpr std::string_view kRunLock = ".lock";
/// The lock of a supervisor, which starts runs in the folder.
inline constexpr std::string_view kSupervisorLock = ".supervisor";

/// Locks an output folder for a single run. Two runs would remove each other's unfinished
/// checkpoints. The lock lasts until the object is destroyed or the process ends, however it dies.
/// The folder is created, and removed again if nothing else was put there.
class [[nodiscard]] OutputLock {
 public:
  /// CheckpointError that names the holder if another run holds the lock for some seconds: a run
  /// that is about to end is awaited. CheckpointError also if the lock's file is a link. If the
  /// file system has no locks, a warning is logged and nothing is locked.
  explicit OutputLock(const std::filesystem::path& output, std::string_view name = kRunLock);
  OutputLock(const OutputLock&) = delete;
  OutputLock& operator=(const OutputLock&) = delete;
  ~OutputLock();

  /// Returns true if a process holds the lock at this moment.
  [[nodiscard]] static bool is_held(const std::filesystem::path& output,
                                    std::string_view name = kRunLock);

  /// The unique text in the lock's file. A rank that reads it there sees the same folder.
  const std::string& token() const { return token_; }

  /// Returns the path of the file that is locked.
  static std::filesystem::path file_of(const std::filesystem::path& output,
                                       std::string_view name = kRunLock);

 private:
  std::filesystem::path output_, above_;  // above_: the nearest folder that existed before
  FileHandle file_;
  std::string token_;
};

}  // namespace penstock::runtime
