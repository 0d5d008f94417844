#pragma once

#include <cstddef>
#include <filesystem>

#include "tests/support/system/temporary_folder.h"

namespace penstock::test {

/// A file system of so many bytes, for this process alone: no other sees it, and it goes with the
/// object or the process. Threads that run already do not see it.
class SmallDisk {
 public:
  explicit SmallDisk(std::size_t bytes);
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk();

  /// False where this process may not mount one.
  bool mounted() const { return mounted_; }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
  bool mounted_ = false;
};

}  // namespace penstock::test
