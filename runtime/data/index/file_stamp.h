#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace penstock::runtime {

/// Distinguishes two states of a file or folder.
struct FileStamp {
  std::int64_t bytes = -1;   // -1: the file does not exist
  std::int64_t changed = 0;  // nanoseconds, by the file system's clock
  bool operator==(const FileStamp&) const = default;
};

[[nodiscard]] FileStamp stamp_of(const std::filesystem::path& file);

/// Returns the XXH3 of a file's bytes; 0 for something that can't be read, such as a folder.
[[nodiscard]] std::uint64_t digest_of(const std::filesystem::path& file);

/// A file or folder from which an index is built.
struct IndexSource {
  std::string path;  // relative to the manifest's folder, as key_of() returns it
  FileStamp stamp = {};
  std::uint64_t digest = 0;  // 0: unknown, or a folder or tar
};

/// Describes the present state of `path`. The digest is 0 for a tar, and for a file that changes
/// during this call.
[[nodiscard]] IndexSource source_of(const std::filesystem::path& path, const std::string& key,
                                    const FileStamp& before);

/// Returns true if the source is as it was at `made`, in nanoseconds of the system's clock. Size
/// and time of change decide. For a file that changed shortly before `made`, the digest decides.
[[nodiscard]] bool unchanged(const IndexSource& source, const std::filesystem::path& path,
                             std::int64_t made);

}  // namespace penstock::runtime
