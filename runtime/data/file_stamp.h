#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace penstock::runtime {

/// Tells one state of a file or folder from another.
struct FileStamp {
  std::int64_t bytes = -1;   // -1: there is none
  std::int64_t changed = 0;  // nanoseconds, of the file system's clock
  bool operator==(const FileStamp&) const = default;
};

[[nodiscard]] FileStamp stamp_of(const std::filesystem::path& file);

/// XXH3 of a file's bytes; nothing of what can't be read, such as a folder.
[[nodiscard]] std::uint64_t digest_of(const std::filesystem::path& file);

/// A file or folder that an index is made of.
struct IndexSource {
  std::string path;  // from the manifest's folder, as key_of() has it
  FileStamp stamp = {};
  std::uint64_t digest = 0;  // 0: not known, or a folder or tar
};

/// What `path` is now. A file that changes while it is looked at has no digest, and a tar has none.
[[nodiscard]] IndexSource source_of(const std::filesystem::path& path, const std::string& key,
                                    const FileStamp& before);

/// Whether it is what it was at `made`, in nanoseconds of the system's clock. Size and time of
/// change tell, but of a file that had changed right before: there, its digest does.
[[nodiscard]] bool unchanged(const IndexSource& source, const std::filesystem::path& path,
                             std::int64_t made);

}  // namespace penstock::runtime
