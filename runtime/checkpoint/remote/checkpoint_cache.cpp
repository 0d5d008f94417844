#include "runtime/checkpoint/remote/checkpoint_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/output_folder.h"

// The folder has for each checkpoint
//
//   NAME/            whole, since it has a manifest and its final name
//   NAME.partial/    a download under way, or one that died
//   NAME.lock        locked in common by readers, exclusively by a download or a removal; its time
//                    of modification is that of the last use
//
// Whoever wants a checkpoint takes the common lock. If the folder is whole, it is done. If not, it
// takes the exclusive lock, looks again, downloads, and begins anew. A remover takes the exclusive
// lock without waiting, so it leaves alone what is in use. It removes the manifest first, so that
// a removal that dies leaves nothing that looks whole, and the lock's file last. Who has waited for
// that file's lock meanwhile notices that the file is gone, and begins anew, too.

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLock = ".lock";

fs::path with(fs::path path, std::string_view suffix) {
  path += suffix;
  return path;
}

bool is_whole(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kManifestFile, ignored);
}

/// A checkpoint in the cache, by the file of its lock.
struct Entry {
  fs::path folder, lock;
  std::uint64_t bytes = 0;
  fs::file_time_type used = fs::file_time_type::min();
};

std::uint64_t bytes_in(const fs::path& folder) {
  std::uint64_t sum = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator item(folder, error), end; !error && item != end;
       item.increment(error)) {
    std::error_code gone;
    const std::uint64_t bytes = item->is_regular_file(gone) ? item->file_size(gone) : 0;
    if (!gone) sum += bytes;
  }
  return sum;
}

/// Returns the checkpoints in the folder, those unused longest first.
std::vector<Entry> entries_in(const fs::path& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator item(folder, error), end; !error && item != end;
       item.increment(error)) {
    if (item->path().extension() != kLock) continue;
    std::error_code gone;
    const fs::path checkpoint = fs::path(item->path()).replace_extension();
    Entry entry{checkpoint, item->path(), bytes_in(checkpoint)};
    entry.bytes += bytes_in(with(checkpoint, ".partial"));
    entry.used = item->last_write_time(gone);
    if (!gone) entries.push_back(std::move(entry));
  }
  std::ranges::sort(entries, {}, &Entry::used);
  return entries;
}

void remove_files(const fs::path& folder) {
  std::error_code ignored;  // what stays is removed by a later call
  fs::remove(folder / kManifestFile, ignored);
  fs::remove_all(folder, ignored);
  fs::remove_all(with(folder, ".partial"), ignored);
}

/// Removes a checkpoint. Returns false if it is in use.
bool remove_unused(const Entry& entry) try {
  const FileHandle handle(entry.lock, O_RDWR);
  if (!lock_cached(handle, LOCK_EX | LOCK_NB) || !is_in_place(handle)) return false;
  remove_files(entry.folder);
  std::error_code ignored;
  fs::remove(entry.lock, ignored);
  return true;
} catch (const FileError&) {
  return false;
}

}  // namespace

CheckpointCache::CheckpointCache(const CacheFolder& cache)
    : folder_(cache.path / "checkpoints"), limit_(cache.bytes) {
  if (cache.path.empty())
    throw ConfigError(
        "a checkpoint of a server needs a folder on this machine: set HOME or XDG_CACHE_HOME; for "
        "a training, name one in data.cache, and set data.cache_gib above 0");
  make_cache(cache);
  make_output(folder_);
}

std::shared_ptr<const FileHandle> CheckpointCache::hold(const fs::path& folder) {
  std::optional<FileHandle> handle = open_in_use(with(folder, kLock));
  return handle ? std::make_shared<const FileHandle>(std::move(*handle)) : nullptr;
}

CachedCheckpoint CheckpointCache::filled(const Filling& filling) const {
  const fs::path folder = folder_ / filling.name;
  while (true) {
    auto handle = std::make_shared<const FileHandle>(with(folder, kLock), O_CREAT | O_RDWR, 0600);
    if (!lock_cached(*handle, LOCK_SH | LOCK_NB)) {
      if (!is_whole(folder))
        spdlog::info("another process downloads {}: this one waits for it", folder.string());
      (void)lock_cached(*handle, LOCK_SH);
    }
    if (!is_in_place(*handle)) continue;
    (void)::futimens(handle->descriptor(), nullptr);
    if (is_whole(folder)) return {folder, std::move(handle)};
    // Over NFS, two that exchange a shared lock for an exclusive one would wait for each other.
    (void)lock_cached(*handle, LOCK_UN);
    (void)lock_cached(*handle, LOCK_EX);
    if (is_in_place(*handle) && !is_whole(folder)) fill(filling);
  }
}

/// Downloads a checkpoint, whose lock is held.
void CheckpointCache::fill(const Filling& filling) const {
  const fs::path folder = folder_ / filling.name, partial = with(folder, ".partial");
  std::error_code ignored;
  fs::remove_all(folder, ignored);  // what a removal that died has left
  make_output(partial);
  make_room(filling.bytes - std::min(filling.bytes, bytes_in(partial)));
  filling.write(partial);
  move_folder(partial, folder);
}

/// Removes checkpoints until `bytes` more keep within the limit, as far as they are unused.
void CheckpointCache::make_room(std::uint64_t bytes) const {
  const std::vector<Entry> entries = entries_in(folder_);
  std::uint64_t sum = bytes;
  for (const Entry& entry : entries) sum += entry.bytes;
  for (const Entry& entry : entries) {
    if (sum <= limit_) break;
    if (remove_unused(entry)) sum -= entry.bytes;
  }
  std::error_code error;
  const std::uint64_t available = fs::space(folder_, error).available;
  if (error || available >= bytes) return;
  throw CheckpointError(fmt::format(
      "{} has {} left on its disk, but the checkpoint needs {} more: free them, or name a folder "
      "of another disk in XDG_CACHE_HOME, or a training's in data.cache",
      folder_.string(), bytes_text(static_cast<double>(available)),
      bytes_text(static_cast<double>(bytes))));
}

}  // namespace penstock::runtime
