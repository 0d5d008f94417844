#pragma once

#include <filesystem>

namespace penstock::runtime {

/// A folder that appears under its name whole, or not at all. Until commit() it is
/// "<name>.partial", which is removed with the object.
class [[nodiscard]] NewFolder {
 public:
  /// CheckpointError if there is something of that name, or the folder can't be made.
  explicit NewFolder(std::filesystem::path path);
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder();

  /// Where to write what it holds.
  const std::filesystem::path& partial() const { return partial_; }

  /// Gives it its name. FileError.
  void commit();

 private:
  std::filesystem::path path_, partial_;
};

}  // namespace penstock::runtime
