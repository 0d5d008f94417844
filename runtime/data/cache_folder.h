#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_handle.h"

namespace penstock::runtime {

/// The folder in which penstock keeps what it can make again: indexes of manifests and what their
/// labels need. Nothing else lies beside a user's recordings.
///
/// A file's entry is named for its manifest: NAME-HASH.index, NAME-HASH.labels. Where the files
/// take more than `bytes`, the entries that were used longest ago are removed. A process holds a
/// shared lock (flock) on each file that it uses, and only a file that can be locked exclusively is
/// removed. Files are renamed into their places when they are whole, so any number of runs may
/// share the folder.
struct CacheFolder {
  std::filesystem::path path = {};  // "": nothing is kept
  std::uint64_t bytes = std::uint64_t{8} << 30;
};

/// `folder`, or where that is empty $XDG_CACHE_HOME/penstock, else ~/.cache/penstock. Without a
/// path if neither XDG_CACHE_HOME nor HOME is an absolute path, or if `gib` is 0.
[[nodiscard]] CacheFolder cache_folder(const std::string& folder = {}, double gib = 8);

/// A manifest as files that belong to it are named for it: absolute, and without a slash at its
/// end.
[[nodiscard]] std::filesystem::path whole_name(const std::filesystem::path& manifest);

/// The file of a manifest in the folder; "" if nothing is kept.
[[nodiscard]] std::filesystem::path cached_file(const CacheFolder& cache,
                                                const std::filesystem::path& manifest,
                                                const std::string& suffix);

/// Opens a file for reading, and keeps others from removing it until the handle is closed. Nothing
/// if there is none, or if it is being removed. Where a file system has no locks, it goes without.
[[nodiscard]] std::optional<FileHandle> open_in_use(const std::filesystem::path& file);

/// Notes that a file of the folder was used now. A folder that can't be written stays as it is.
void mark_used(const std::filesystem::path& file);

/// Makes the folder if it can. Others can't look into it.
void make_cache(const CacheFolder& cache);

/// Writes a file of the folder, which `fill` gives its bytes, and makes room for it. False if that
/// can't be done.
[[nodiscard]] bool write_cached(
    const CacheFolder& cache, const std::filesystem::path& file,
    const std::function<void(const std::function<void(std::string_view)>&)>& fill);

/// Writes a file under another name, which no other process uses, and renames it. FileError.
void write_whole(const std::filesystem::path& file,
                 const std::function<void(const std::function<void(std::string_view)>&)>& fill);

/// Removes entries until the files take at most cache.bytes: those that were used longest ago
/// first, but none that is in use, and not that of `kept`.
void prune_cache(const CacheFolder& cache, const std::filesystem::path& kept);

}  // namespace penstock::runtime
