#include "runtime/checkpoint/new_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "runtime/checkpoint/fault.h"

namespace penstock::runtime {
namespace {

// A partial folder holds a mark file with an exclusive lock (flock). The kernel drops the lock when
// the process dies. So a folder with an unlocked mark is a leftover that may be removed, and one
// with a locked mark is in use.

constexpr const char* kMark = ".unfinished";  // file that marks a folder as penstock's

/// Returns an absolute path without a slash at its end: "a/b/" becomes "…/a/b".
std::filesystem::path without_slash(std::filesystem::path path) {
  path = std::filesystem::absolute(path).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

[[noreturn]] void throw_taken(const std::filesystem::path& path) {
  throw_fault(path, "is there already: name a folder that is not, or remove it");
}

bool is_taken(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

/// Opens and locks a folder's mark. The lock lasts as long as the handle lives. Opening fails if
/// the mark is a symbolic link, which could lead to a file elsewhere.
FileHandle locked_mark(const std::filesystem::path& folder, int flags) {
  FileHandle mark(folder / kMark, O_RDWR | O_NOFOLLOW | flags);
  if (::flock(mark.descriptor(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw_fault(folder, "is being written by another process: wait for it, or name another folder");
  return mark;
}

/// Removes the leftovers of a process that died, and nothing else.
void remove_leftover(const std::filesystem::path& partial) {
  std::error_code error;
  // Removing an empty folder loses nothing.
  if (!is_taken(partial) || ::rmdir(partial.c_str()) == 0) return;
  if (!is_taken(partial / kMark))
    throw_fault(partial, "is there already, and penstock did not make it: remove it");
  const FileHandle mark = locked_mark(partial, 0);
  std::filesystem::remove_all(partial, error);
  if (error) throw_fault(partial, fmt::format("can't be removed: {}", error.message()));
}

/// Renames a folder. Returns false, with errno set, if that fails or `to` exists.
bool renamed_to_new(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  // The file system lacks RENAME_NOREPLACE: reserve the name with an empty folder, which rename()
  // replaces.
  if (::mkdir(to.c_str(), 0777) != 0) return false;
  if (::rename(from.c_str(), to.c_str()) == 0) return true;
  const int reason = errno;
  ::rmdir(to.c_str());
  errno = reason;
  return false;
}

}  // namespace

NewFolder::NewFolder(std::filesystem::path path) : path_(without_slash(std::move(path))) {
  partial_ = path_;
  partial_ += ".partial";
  if (is_taken(path_)) throw_taken(path_);
  remove_leftover(partial_);
  std::error_code error;
  std::filesystem::create_directories(path_.parent_path(), error);
  if (error) throw_fault(partial_, fmt::format("can't be made: {}", error.message()));
  if (::mkdir(partial_.c_str(), 0777) != 0) raise_errno(partial_, "can't be made");
  mark_.emplace(locked_mark(partial_, O_CREAT | O_EXCL));
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!partial_.empty()) std::filesystem::remove_all(partial_, ignored);
}

// The mark is removed after the rename. A crash in between leaves it in the complete folder, where
// it does no harm: marks are looked at in partial folders only.
void NewFolder::commit() {
  if (!renamed_to_new(partial_, path_)) {
    if (errno == EEXIST || errno == ENOTEMPTY) throw_taken(path_);
    raise_errno(partial_, fmt::format("can't be renamed to {}", path_.string()));
  }
  partial_.clear();
  ::unlink((path_ / kMark).c_str());
  mark_.reset();
  sync_folder(path_);
  sync_folder(path_.parent_path());
}

void refuse_within(const std::filesystem::path& checkpoint, const std::filesystem::path& folder) {
  const auto outer = std::filesystem::weakly_canonical(checkpoint);
  const auto inner = std::filesystem::weakly_canonical(folder);
  if (std::ranges::mismatch(outer, inner).in1 == outer.end())
    throw_fault(folder, fmt::format("lies in the checkpoint {}: name a folder elsewhere",
                                    checkpoint.string()));
}

}  // namespace penstock::runtime
