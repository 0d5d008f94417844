#include "runtime/checkpoint/output_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <fstream>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/output_folder.h"

namespace penstock::runtime {
namespace {

// The lock is flock() on a file in the folder, which the system releases when the process dies. A
// run removes the file at its end. So a second run may lock a file that has just been removed,
// while a third creates a new one. try_lock() therefore checks that the name still refers to the
// locked file, and locked() retries.

constexpr int kMaxTries = 1000;
// mpirun may end before a rank that it killed, which holds the lock until all its memory is freed.
constexpr std::chrono::seconds kPatience{3};
constexpr std::chrono::milliseconds kPause{20};

/// Returns "process 4711 on host node-3", and the time on a second line, which makes it unique.
std::string token_of_this_process() {
  char host[HOST_NAME_MAX + 1] = {};
  ::gethostname(host, HOST_NAME_MAX);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("process {} on host {}\n{}\n", ::getpid(), static_cast<const char*>(host),
                     std::chrono::nanoseconds(now).count());
}

/// Returns the first line of the lock's file, for the message. The holder may be about to write it.
std::string holder_of(const std::filesystem::path& file) {
  std::string holder;
  std::getline(std::ifstream(file), holder);
  return holder.empty() ? "another process" : holder;
}

/// True if the file of that name is still the one that was opened. A removed file still exists for
/// whoever has it open, so names are compared by device and inode.
bool is_named(const FileHandle& file) {
  struct stat held {
  }, named{};
  return ::fstat(file.descriptor(), &held) == 0 && ::stat(file.path().c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

/// Opens the file to lock. Links are rejected, since locking overwrites the file's text. That
/// includes hard links, which O_NOFOLLOW follows.
FileHandle open_lock(const std::filesystem::path& path) try {
  FileHandle file(path, O_RDWR | O_CREAT | O_NOFOLLOW);
  struct stat found {};
  if (::fstat(file.descriptor(), &found) != 0) raise_errno(path, "can't be examined");
  if (!S_ISREG(found.st_mode) || found.st_nlink > 1)
    throw_fault(path, "is no plain file of its own, so it can't be the folder's lock: remove it");
  return file;
} catch (const FileError& error) {
  if (error.code() == std::errc::too_many_symbolic_link_levels)
    throw_fault(path, "is a symbolic link, so it can't be the folder's lock: remove it");
  throw;
}

/// Locks the file as soon as it is free. False if it is not within kPatience, or if it can't be
/// locked; errno says which.
bool lock_patiently(int descriptor) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

/// Returns nothing if another run removed the file between opening and locking. A file system may
/// lack locks, as some network file systems do. The file then serves for its token alone.
std::optional<FileHandle> try_lock(const std::filesystem::path& output, std::string_view name) {
  const auto path = OutputLock::file_of(output, name);
  make_output(output);
  FileHandle file = open_lock(path);
  if (lock_patiently(file.descriptor())) {
    if (is_named(file)) return file;
    return std::nullopt;
  }
  if (errno == EWOULDBLOCK)
    throw CheckpointError(
        fmt::format("{}: another run writes there, {}: wait for its end, or choose another "
                    "trainer.output",
                    output.string(), holder_of(path)));
  spdlog::warn("{} can't be locked ({}): make sure that no other run writes there", output.string(),
               std::generic_category().message(errno));
  return file;
}

FileHandle locked(const std::filesystem::path& output, std::string_view name) {
  for (int tries = 1;; ++tries) {
    try {
      if (auto file = try_lock(output, name)) return std::move(*file);
    } catch (const FileError& error) {
      // Another run may remove the folder between make_output() and open_lock().
      if (!error.missing() || tries == kMaxTries) throw;
    }
  }
}

}  // namespace

std::filesystem::path OutputLock::file_of(const std::filesystem::path& output,
                                          std::string_view name) {
  return output / name;
}

// A shared lock can be had if nobody holds the exclusive one. It ends with the descriptor. A run
// that locks the file at the same moment tries again.
bool OutputLock::is_held(const std::filesystem::path& output, std::string_view name) try {
  const FileHandle file(file_of(output, name), O_RDONLY);
  return ::flock(file.descriptor(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
} catch (const FileError&) {  // there is no such file
  return false;
}

// The token is written under the lock. Ranks on other hosts read it to find out whether they see
// the same folder. above_ is found before locked() creates the folder.
OutputLock::OutputLock(const std::filesystem::path& output, std::string_view name)
    : output_(output),
      above_(nearest_existing(output)),
      file_(locked(output, name)),
      token_(token_of_this_process()) {
  const auto size = static_cast<ssize_t>(token_.size());
  if (::ftruncate(file_.descriptor(), 0) != 0 ||
      ::pwrite(file_.descriptor(), token_.data(), token_.size(), 0) != size)
    raise_errno(file_.path(), "can't be written");
}

OutputLock::~OutputLock() {
  ::unlink(file_.path().c_str());  // while locked, so it is never another run's file
  remove_empty_folders(output_, above_);
}

}  // namespace penstock::runtime
