#include "runtime/data/index/cache_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <map>
#include <random>
#include <vector>

#include "base/atomic_file.h"
#include "base/quantities.h"
#include "runtime/data/index/stream_hash.h"

// Any number of processes share the folder without a lock of it. Three rules keep them safe:
//   - A file appears under its name by a rename, when it is complete. Until then it has a name of
//     its own, which ends with .partial. One that is left by a dead process is removed after a day.
//   - A reader holds a shared lock on each file that it uses. A remover needs an exclusive lock on
//     all files of an entry, and takes them without waiting.
//   - A lock is on a file, not on a name, and between opening and locking the file may have been
//     removed or replaced. So both sides look afterwards whether the name still leads to the file
//     that they locked.
// The time of last use is the file's time of modification, which mark_used() renews, because file
// systems often don't keep times of access.

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 5> kSuffixes = {".index.journal", ".index", ".labels",
                                                       ".sounds.journal", ".sounds"};
constexpr std::string_view kPartial = ".partial";
/// Age at which the partial file of a dead run is removed.
constexpr auto kAbandoned = std::chrono::hours(24);

/// Returns the folder that an environment variable names; "" if it holds no absolute path.
fs::path named_folder(const char* variable) {
  const char* const value = std::getenv(variable);
  const fs::path folder = value == nullptr ? "" : value;
  return folder.is_absolute() ? folder : fs::path();
}

/// Returns the file's name without its suffix; "" if the file does not belong to the cache.
std::string entry_name(std::string_view file) {
  for (const std::string_view suffix : kSuffixes) {
    const std::size_t end = file.rfind(suffix);
    if (end == std::string_view::npos) continue;
    const std::string_view rest = file.substr(end + suffix.size());
    const std::string_view name = file.substr(0, end);
    constexpr std::size_t kDigits = 16;
    if ((!rest.empty() && !rest.ends_with(kPartial)) || name.size() <= kDigits) continue;
    const std::string_view hash = name.substr(name.size() - kDigits);
    const bool is_hash = hash.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    if (is_hash && name[name.size() - kDigits - 1] == '-') return std::string(name);
  }
  return {};
}

/// The cached files of one manifest.
struct CacheEntry {
  std::vector<fs::path> files;
  std::uint64_t bytes = 0;
  fs::file_time_type used = fs::file_time_type::min();
};

std::map<std::string, CacheEntry> entries_in(const fs::path& folder) {
  std::map<std::string, CacheEntry> entries;
  std::error_code error;
  for (fs::directory_iterator item(folder, error), end; !error && item != end;
       item.increment(error)) {
    const fs::path& file = item->path();
    const std::string name = entry_name(file.filename().native());
    std::error_code gone;
    const std::uint64_t bytes = item->file_size(gone);
    const fs::file_time_type used = item->last_write_time(gone);
    if (name.empty() || gone) continue;
    if (file.native().ends_with(kPartial)) {
      if (used + kAbandoned < fs::file_time_type::clock::now()) fs::remove(file, gone);
      continue;
    }
    CacheEntry& entry = entries[name];
    entry.files.push_back(file);
    entry.bytes += bytes;
    entry.used = std::max(entry.used, used);
  }
  return entries;
}

/// Removes an entry's files. Returns false if one of them is in use, or if the file system has no
/// locks and so cannot tell.
bool remove_unused(const CacheEntry& entry) try {
  std::vector<FileHandle> locked;
  for (const fs::path& file : entry.files) {
    const FileHandle& handle = locked.emplace_back(file, O_RDWR);
    if (::flock(handle.descriptor(), LOCK_EX | LOCK_NB) != 0 || !is_in_place(handle)) return false;
  }
  std::error_code gone;
  for (const fs::path& file : entry.files) fs::remove(file, gone);
  return true;
} catch (const FileError&) {
  return false;
}

}  // namespace

CacheFolder cache_folder(const std::string& folder, double gib) {
  CacheFolder cache{.bytes = static_cast<std::uint64_t>(gib * kGib)};
  if (cache.bytes == 0) return cache;
  if (!folder.empty()) {
    cache.path = fs::absolute(folder);
  } else if (const fs::path caches = named_folder("XDG_CACHE_HOME"); !caches.empty()) {
    cache.path = caches / "penstock";
  } else if (const fs::path home = named_folder("HOME"); !home.empty()) {
    cache.path = home / ".cache" / "penstock";
  }
  return cache;
}

fs::path whole_name(const fs::path& manifest) {
  fs::path whole = fs::absolute(manifest).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

fs::path cached_file(const CacheFolder& cache, const fs::path& manifest,
                     const std::string& suffix) {
  if (cache.path.empty()) return {};
  const fs::path whole = whole_name(manifest);
  return cache.path /
         fmt::format("{}-{:016x}{}", whole.filename().string(), hash_of(whole.native()), suffix);
}

std::optional<FileHandle> open_in_use(const fs::path& file) try {
  FileHandle handle(file, O_RDONLY);
  if (::flock(handle.descriptor(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return std::nullopt;
  if (!is_in_place(handle)) return std::nullopt;  // it was removed before it was locked
  return handle;
} catch (const FileError&) {
  return std::nullopt;
}

bool lock_cached(const FileHandle& file, int operation) {
  while (::flock(file.descriptor(), operation) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return false;
    raise_errno(file.path(),
                "can't be locked; name a folder of another disk in data.cache or XDG_CACHE_HOME");
  }
  return true;
}

bool is_in_place(const FileHandle& handle) {
  struct stat open = {}, there = {};
  return ::fstat(handle.descriptor(), &open) == 0 && ::stat(handle.path().c_str(), &there) == 0 &&
         open.st_ino == there.st_ino && open.st_dev == there.st_dev;
}

void mark_used(const fs::path& file) {
  std::error_code ignored;
  fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
}

void make_cache(const CacheFolder& cache) {
  std::error_code error;
  fs::create_directories(cache.path.parent_path(), error);
  ::mkdir(cache.path.c_str(), 0700);  // transcripts may be private, so only the owner may read them
}

void write_whole(const fs::path& file,
                 const std::function<void(const std::function<void(std::string_view)>&)>& fill) {
  // Processes on other machines or in other containers may have the same process number.
  AtomicFile atomic(file,
                    fmt::format(".{}-{:08x}{}", ::getpid(), std::random_device()(), kPartial));
  fill([&](std::string_view bytes) { atomic.write(bytes); });
  atomic.commit(Flush::none);
}

bool write_cached(
    const CacheFolder& cache, const fs::path& file,
    const std::function<void(const std::function<void(std::string_view)>&)>& fill) try {
  if (file.empty()) return false;
  make_cache(cache);
  write_whole(file, fill);
  prune_cache(cache, file);
  return true;
} catch (const FileError&) {
  return false;
}

// Evicts the least recently used entries first. An entry is as recent as its most recent file.
void prune_cache(const CacheFolder& cache, const fs::path& kept) {
  std::map<std::string, CacheEntry> entries = entries_in(cache.path);
  std::uint64_t total = 0;
  for (const auto& [name, entry] : entries) total += entry.bytes;
  entries.erase(entry_name(kept.filename().native()));
  std::vector<CacheEntry> oldest_first;
  for (auto& [name, entry] : entries) oldest_first.push_back(std::move(entry));
  std::ranges::stable_sort(oldest_first, {}, &CacheEntry::used);
  for (const CacheEntry& entry : oldest_first) {
    if (total <= cache.bytes) return;
    if (remove_unused(entry)) total -= entry.bytes;
  }
}

}  // namespace penstock::runtime
