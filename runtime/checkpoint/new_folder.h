#pragma once

#include <filesystem>
#include <optional>

#include "base/file_handle.h"

namespace penstock::runtime {

/// Creates a folder that appears under its name completely or not at all. Until commit() it is
/// called "<name>.partial", and it is removed with the object. A locked file inside marks it as
/// penstock's. So the leftovers of a process that died can be distinguished from other folders, and
/// from a folder that is still being written.
class [[nodiscard]] NewFolder {
 public:
  /// Throws CheckpointError if `path` exists, if "<name>.partial" belongs to someone else, or if
  /// the folder can't be created.
  explicit NewFolder(std::filesystem::path path);
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder();

  /// Returns the folder to write into until commit().
  const std::filesystem::path& partial() const { return partial_; }

  /// Gives the folder its final name. Throws CheckpointError if the name exists meanwhile; the
  /// existing one stays unchanged. Throws FileError.
  void commit();

 private:
  std::filesystem::path path_, partial_;
  std::optional<FileHandle> mark_;
};

/// Throws CheckpointError if `folder` would lie within a checkpoint's folder, which holds nothing
/// else.
void refuse_within(const std::filesystem::path& checkpoint, const std::filesystem::path& folder);

}  // namespace penstock::runtime
