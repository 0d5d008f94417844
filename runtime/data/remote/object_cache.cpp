#include "runtime/data/remote/object_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/data/index/cache_folder.h"
#include "runtime/data/index/stream_hash.h"

// A file is absent, hollow or whole. A hollow one has the size and the time of the object but no
// bytes, so whatever asks for them only, such as an index that looks whether its tars have changed,
// needs no download. A whole one may be read by its owner, and a hollow one by nobody. The time of
// change says which object it is, and the time of access when it was used last.
//
// Every change is a rename over the file, under a lock of the inode that goes:
//
//   filling    partial/HASH is locked exclusively, written and renamed; the lock becomes shared
//   reading    the file is locked as long as it is read, in common with others
//   evicting   the file is locked exclusively, without waiting, and a hollow one renamed over it
//
// So a process that dies leaves a partial file, without a lock, which the next one continues. The
// file "size" holds the sum of whole and partial files. It is locked while the sum changes. If the
// sum with a new file exceeds the limit, the folder is listed, which corrects the sum, and files
// are evicted to a tenth below the limit: listings are rare, and the limit holds all the time.

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr mode_t kWhole = 0600, kHollow = 0;
constexpr auto kPoll = 20ms;
constexpr const char* kPartials = "partial";
constexpr const char* kParts = "parts";
constexpr const char* kSum = "size";

constexpr std::int64_t kSecond = 1'000'000'000;

timespec as_time(const FileStamp& stamp) {
  return {stamp.changed / kSecond, stamp.changed % kSecond};
}

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }

/// Sets the time of change, and the time of use to now.
void set_times(const FileHandle& file, const timespec& changed) {
  const timespec times[2] = {{0, UTIME_NOW}, changed};
  if (::futimens(file.descriptor(), times) != 0) raise_errno(file.path(), "can't be written");
}

void make_folder_for(const fs::path& file) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (!error) return;
  throw FileError(file,
                  fmt::format("{}: its folder can't be made: {}", file.string(), error.message()),
                  static_cast<std::errc>(error.value()));
}

bool is_whole(const struct stat& status) { return (status.st_mode & 0777) == kWhole; }

/// True if a file with this stamp has its bytes, whoever has it locked.
bool has_bytes(const fs::path& file, const FileStamp& stamp) {
  struct stat status = {};
  return ::stat(file.c_str(), &status) == 0 && is_whole(status) && stamp_of(file) == stamp;
}

/// Waits as long as another has a file locked exclusively. Does nothing if it can't be read.
void wait_while_locked(const fs::path& file) try {
  const FileHandle handle(file, O_RDONLY);
  (void)lock_cached(handle, LOCK_SH);
} catch (const FileError&) {
}

/// A whole or partial file of the folder.
struct CachedBytes {
  fs::path path;
  std::uint64_t bytes = 0;
  std::int64_t used = 0;  // nanoseconds
};

std::vector<CachedBytes> bytes_in(const fs::path& folder) {
  std::vector<CachedBytes> found;
  const fs::path partials = folder / kPartials;
  std::error_code error;
  for (fs::recursive_directory_iterator item(folder, error), end; !error && item != end;
       item.increment(error)) {
    struct stat status = {};
    if (::lstat(item->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const bool partial = item->path().parent_path() == partials;
    if (is_whole(status) && item->path() != folder / kSum)
      found.push_back({item->path(), static_cast<std::uint64_t>(status.st_size),
                       nanoseconds(partial ? status.st_mtim : status.st_atim)});
  }
  return found;
}

/// Throws FileError that says what to do if the disk is full.
void write_by(const ObjectCache::Filling& filling, const fs::path& partial) try {
  filling.write(partial);
} catch (const FileError& error) {
  if (error.code() != std::errc::no_space_on_device) throw;
  throw FileError(
      partial,
      fmt::format("{}. The disk of the cache is full: free it, lower data.cache_gib, or "
                  "name a folder of another disk in data.cache",
                  error.what()),
      std::errc::no_space_on_device);
}

}  // namespace

fs::path ObjectCache::part(const std::string& name) const { return folder_ / kParts / name; }

fs::path ObjectCache::partial(const fs::path& file, const FileStamp& stamp) const {
  const std::string object = fmt::format("{}\n{}\n{}", file.string(), stamp.bytes, stamp.changed);
  return folder_ / kPartials / fmt::format("{:016x}", hash_of(object));
}

void ObjectCache::note(const fs::path& file, const FileStamp& stamp) const {
  if (stamp_of(file) != stamp) make_hollow(file, stamp);
}

void ObjectCache::make_hollow(const fs::path& file, const FileStamp& stamp) const {
  make_folder_for(file);
  const fs::path hollow =
      folder_ / kPartials / fmt::format("hollow-{}-{:08x}", ::getpid(), std::random_device()());
  make_folder_for(hollow);
  const FileHandle handle(hollow, O_CREAT | O_EXCL | O_WRONLY, kHollow);
  if (::ftruncate(handle.descriptor(), stamp.bytes) != 0) raise_errno(hollow, "can't be written");
  set_times(handle, as_time(stamp));
  fs::rename(hollow, file);
}

std::optional<FileHandle> ObjectCache::open(const fs::path& file, const FileStamp& stamp) const {
  if (!has_bytes(file, stamp)) return std::nullopt;
  std::optional<FileHandle> handle = open_in_use(file);
  struct stat status = {};
  if (!handle || stamp_of(file) != stamp || ::fstat(handle->descriptor(), &status) != 0 ||
      !is_whole(status))
    return std::nullopt;
  const timespec used[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  (void)::futimens(handle->descriptor(), used);
  return handle;
}

// A waiter looks from time to time whether the file is whole, since the one that fills it goes on
// to read it. A file that has its bytes, but is locked exclusively, was renamed a moment ago, or is
// about to be evicted. It is known which as soon as the lock is gone.
FileHandle ObjectCache::filled(const fs::path& file, const FileStamp& stamp,
                               const Filling& filling) const {
  const fs::path partial = this->partial(file, stamp);
  make_folder_for(partial);
  make_folder_for(file);
  while (true) {
    if (auto found = open(file, stamp)) return std::move(*found);
    FileHandle handle(partial, O_CREAT | O_RDWR, kWhole);
    if (!lock_cached(handle, LOCK_EX | LOCK_NB)) {
      std::this_thread::sleep_for(kPoll);
      continue;
    }
    if (!is_in_place(handle)) continue;
    if (has_bytes(file, stamp)) wait_while_locked(file);
    if (auto found = open(file, stamp)) {
      fs::remove(partial);
      return std::move(*found);
    }
    if (!filling.resumes && ::ftruncate(handle.descriptor(), 0) != 0)
      raise_errno(partial, "can't be written");
    const std::int64_t there = std::min(stamp_of(partial).bytes, stamp.bytes);
    reserve(file, static_cast<std::uint64_t>(stamp.bytes - there));
    write_by(filling, partial);
    set_times(handle, as_time(stamp));
    fs::rename(partial, file);
    (void)::flock(handle.descriptor(), LOCK_SH);
    return handle;
  }
}

// Files that are in use stay, so the room may come later.
void ObjectCache::reserve(const fs::path& file, std::uint64_t bytes) const {
  const auto end = std::chrono::steady_clock::now() + 10s;
  std::optional<std::uint64_t> taken;
  while (bytes <= limit_ && (taken = try_reserve(bytes)) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(10 * kPoll);
  if (bytes <= limit_ && !taken) return;
  const std::uint64_t needed = bytes + taken.value_or(0);
  const std::string message = fmt::format(
      "{} takes {}, but downloads may take {}{}: set data.cache_gib={} or more", file.string(),
      bytes_text(static_cast<double>(bytes)), bytes_text(static_cast<double>(limit_)),
      taken ? ", and what is in use or under way takes the rest" : "",
      std::ceil(static_cast<double>(needed) / kGib * 100) / 100);
  throw FileError(file, message, std::errc::no_space_on_device);
}

/// Adds to the sum. Returns nothing if the bytes have room, else what the other files take.
std::optional<std::uint64_t> ObjectCache::try_reserve(std::uint64_t bytes) const {
  const FileHandle file(folder_ / kSum, O_CREAT | O_RDWR, 0600);
  (void)lock_cached(file, LOCK_EX);
  std::uint64_t sum = 0;
  const bool known = ::pread(file.descriptor(), &sum, sizeof sum, 0) == sizeof sum;
  if (!known || sum + bytes > limit_) sum = evict(std::min(limit_ - bytes, limit_ - limit_ / 10));
  const bool fits = sum + bytes <= limit_;
  const std::uint64_t now = fits ? sum + bytes : sum;
  if (::pwrite(file.descriptor(), &now, sizeof now, 0) != sizeof now)
    raise_errno(file.path(), "can't be written");
  return fits ? std::nullopt : std::optional(sum);
}

/// Evicts files until all take at most `goal` bytes, if possible. Returns what they take then.
std::uint64_t ObjectCache::evict(std::uint64_t goal) const {
  std::vector<CachedBytes> files = bytes_in(folder_);
  std::uint64_t sum = 0;
  for (const CachedBytes& file : files) sum += file.bytes;
  if (sum <= goal) return sum;
  std::ranges::stable_sort(files, {}, &CachedBytes::used);
  for (const CachedBytes& file : files) {
    if (sum <= goal) break;
    if (take_bytes(file.path)) sum -= file.bytes;
  }
  return sum;
}

/// Evicts a file. Returns false if it is in use.
bool ObjectCache::take_bytes(const fs::path& file) const try {
  const FileHandle handle(file, O_RDWR);  // network disks lock no other kind exclusively
  if (!lock_cached(handle, LOCK_EX | LOCK_NB) || !is_in_place(handle)) return false;
  const fs::path folder = file.parent_path();
  if (folder == folder_ / kParts || folder == folder_ / kPartials) return fs::remove(file);
  make_hollow(file, stamp_of(file));
  return true;
} catch (const FileError&) {
  return false;
}

}  // namespace penstock::runtime
