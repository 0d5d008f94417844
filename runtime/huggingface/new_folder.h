#pragma once

#include <filesystem>
#include <optional>

#include "base/file_handle.h"

namespace penstock::runtime {

/// A folder that appears under its name whole, or not at all. Until commit() it is
/// "<name>.partial", which is removed with the object. A locked file within marks it as ours, so
/// what a process that died left can be told from other folders, and from one that is being made.
class [[nodiscard]] NewFolder {
 public:
  /// CheckpointError if there is something of that name, if "<name>.partial" is another's, or if
  /// the folder can't be made.
  explicit NewFolder(std::filesystem::path path);
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder();

  /// Where to write what it holds.
  const std::filesystem::path& partial() const { return partial_; }

  /// Gives it its name. CheckpointError if something has it by now: that stays as it is. FileError.
  void commit();

 private:
  std::filesystem::path path_, partial_;
  std::optional<FileHandle> mark_;
};

/// CheckpointError if `folder` would lie within a checkpoint's, which holds nothing else.
void refuse_within(const std::filesystem::path& checkpoint, const std::filesystem::path& folder);

}  // namespace penstock::runtime
