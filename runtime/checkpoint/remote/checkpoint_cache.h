#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/file_handle.h"
#include "runtime/data/index/cache_folder.h"

namespace penstock::runtime {

/// A checkpoint's folder in the cache. It stays while a handle of it is open.
struct CachedCheckpoint {
  std::filesystem::path folder;
  std::shared_ptr<const FileHandle> in_use;
};

/// Keeps checkpoints that were downloaded, in the folder "checkpoints" of a cache. They take at
/// most cache.bytes: those unused longest are removed. One that is in use stays, even if it takes
/// more alone. Any number of processes share the folder.
class CheckpointCache {
 public:
  /// ConfigError if there is no cache.
  explicit CheckpointCache(const CacheFolder& cache);

  /// Says what to download: the name of its folder, its size, and what writes the files into a
  /// folder, which may hold some from an earlier, interrupted call.
  struct Filling {
    std::string name;
    std::uint64_t bytes = 0;
    std::function<void(const std::filesystem::path& partial)> write;
  };

  /// Returns a checkpoint, which is downloaded before if it is not there. One process does, and
  /// others wait. CheckpointError if the disk lacks room; FileError if it lacks locks. Besides,
  /// throws what `write` throws, and then what was written stays for the next call.
  [[nodiscard]] CachedCheckpoint filled(const Filling& filling) const;

  /// Returns a handle that keeps a checkpoint in its place, or nothing if it is not of a cache.
  [[nodiscard]] static std::shared_ptr<const FileHandle> hold(const std::filesystem::path& folder);

 private:
  void fill(const Filling& filling) const;
  void make_room(std::uint64_t bytes) const;

  std::filesystem::path folder_;
  std::uint64_t limit_;
};

}  // namespace penstock::runtime
