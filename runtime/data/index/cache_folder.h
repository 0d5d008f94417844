#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_handle.h"

namespace penstock::runtime {

/// The folder in which penstock caches data that it can recompute: indexes of manifests and the
/// frames that their labels need. Unless it is asked to, penstock
/// writes nothing beside a user's recordings.
///
/// A cached file is named after its manifest: NAME-HASH.index, NAME-HASH.labels, NAME-HASH.sounds.
/// If the files take more than `bytes`, the least recently used entries are removed. A process
/// holds a shared lock (flock) on each file that it uses, and only a file that can be locked
/// exclusively is removed. A file is renamed into place once it is complete, so any number of runs
/// may share the folder.
struct CacheFolder {
  std::filesystem::path path = {};  // "": nothing is cached
  std::uint64_t bytes = std::uint64_t{8} << 30;
};

/// Returns `folder` or, if that is empty, $XDG_CACHE_HOME/penstock, else ~/.cache/penstock. The
/// result has no path if neither XDG_CACHE_HOME nor HOME is an absolute path, or if `gib` is 0.
[[nodiscard]] CacheFolder cache_folder(const std::string& folder = {}, double gib = 8);

/// Returns a manifest's path in the form after which its files are named: absolute, without a slash
/// at its end.
[[nodiscard]] std::filesystem::path whole_name(const std::filesystem::path& manifest);

/// Returns the path of a manifest's cached file; "" if nothing is cached.
[[nodiscard]] std::filesystem::path cached_file(const CacheFolder& cache,
                                                const std::filesystem::path& manifest,
                                                const std::string& suffix);

/// Opens a file for reading and keeps others from removing it until the handle is closed. Returns
/// nothing if the file does not exist or is being removed. On a file system without locks, the file
/// is opened without one.
[[nodiscard]] std::optional<FileHandle> open_in_use(const std::filesystem::path& file);

/// Locks a cached file as flock(2) does, with an operation such as LOCK_SH or LOCK_EX | LOCK_NB.
/// Returns false if LOCK_NB is set and another has the file locked. FileError on a file system
/// without locks.
bool lock_cached(const FileHandle& file, int operation);

/// Returns true if the path of an open file still leads to that file.
[[nodiscard]] bool is_in_place(const FileHandle& handle);

/// Records that a cached file was used now. Has no effect if the folder can't be written.
void mark_used(const std::filesystem::path& file);

/// Creates the folder if possible. Only its owner can read it.
void make_cache(const CacheFolder& cache);

/// Writes a cached file, whose bytes `fill` provides, and prunes the cache afterwards. Returns
/// false if the file can't be written.
[[nodiscard]] bool write_cached(
    const CacheFolder& cache, const std::filesystem::path& file,
    const std::function<void(const std::function<void(std::string_view)>&)>& fill);

/// Writes a file under a temporary name that no other process uses, then renames it into place.
/// Throws FileError.
void write_whole(const std::filesystem::path& file,
                 const std::function<void(const std::function<void(std::string_view)>&)>& fill);

/// Removes the least recently used entries until the files take at most cache.bytes. Entries that
/// are in use and the entry of `kept` stay.
void prune_cache(const CacheFolder& cache, const std::filesystem::path& kept);

}  // namespace penstock::runtime
