#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/file_handle.h"
#include "runtime/data/index/file_stamp.h"

namespace penstock::runtime {

/// A folder of files that were downloaded and can be again. They take at most `limit` bytes, those
/// under way included; the least recently used ones lose their bytes. Any number of threads and
/// processes share a folder. FileError if it can't be written.
class ObjectCache {
 public:
  ObjectCache(std::filesystem::path folder, std::uint64_t limit)
      : folder_(std::move(folder)), limit_(limit) {}

  const std::filesystem::path& folder() const { return folder_; }
  std::uint64_t limit() const { return limit_; }

  /// Makes `file` hollow, with this size and time but without bytes, unless it has this stamp.
  void note(const std::filesystem::path& file, const FileStamp& stamp) const;

  /// Opens a file that has this stamp and is not hollow. It keeps its bytes until the handle is
  /// closed. Returns nothing if there is no such file.
  [[nodiscard]] std::optional<FileHandle> open(const std::filesystem::path& file,
                                               const FileStamp& stamp) const;

  /// Writes the bytes of a file. With `resumes`, the file may hold the first ones already, from a
  /// process that was interrupted; else it is empty.
  struct Filling {
    std::function<void(const std::filesystem::path& partial)> write;
    bool resumes = false;
  };

  /// Opens a file as above and fills it before if need be. One process fills it and others wait.
  /// FileError if the folder has no room for the file; besides, throws what `write` throws.
  [[nodiscard]] FileHandle filled(const std::filesystem::path& file, const FileStamp& stamp,
                                  const Filling& filling) const;

  /// Returns a name in the folder for a part of an object, which is removed instead of hollowed.
  [[nodiscard]] std::filesystem::path part(const std::string& name) const;

 private:
  std::filesystem::path partial(const std::filesystem::path& file, const FileStamp& stamp) const;
  void reserve(const std::filesystem::path& file, std::uint64_t bytes) const;
  std::optional<std::uint64_t> try_reserve(std::uint64_t bytes) const;
  std::uint64_t evict(std::uint64_t goal) const;
  bool take_bytes(const std::filesystem::path& file) const;
  void make_hollow(const std::filesystem::path& file, const FileStamp& stamp) const;

  std::filesystem::path folder_;
  std::uint64_t limit_;
};

}  // namespace penstock::runtime
