#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "runtime/data/audio.h"

namespace penstock::runtime {

/// Tells one state of a file from another.
struct FileStamp {
  std::int64_t bytes = 0;
  std::int64_t changed = 0;  // nanoseconds, of the file system's clock
  bool operator==(const FileStamp&) const = default;
};

/// Nothing if there is no such file.
[[nodiscard]] std::optional<FileStamp> stamp_of(const std::filesystem::path& file);

struct CachedLength {
  FileStamp stamp;
  AudioLength length;
};

/// Lengths by path of the audio.
using IndexCache = std::map<std::string, CachedLength>;

/// What the file holds; nothing if it is missing, of another format, or its XXH3 hash is wrong.
[[nodiscard]] std::optional<IndexCache> read_index_cache(const std::filesystem::path& file);

/// Replaces the file as a whole. False, with nothing left behind, if it can't be written.
[[nodiscard]] bool write_index_cache(const IndexCache&, const std::filesystem::path& file);

}  // namespace penstock::runtime
