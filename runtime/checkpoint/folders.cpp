#include "runtime/checkpoint/folders.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>

#include <cerrno>
#include <system_error>

#include "base/atomic_file.h"

namespace penstock::runtime {
namespace {

std::filesystem::path discarded_name(std::filesystem::path folder) {
  folder += ".discarded";
  return folder;
}

void rename_or_raise(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    raise_errno(from, fmt::format("can't be renamed to {}", to.string()));
}

void remove_or_raise(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (!error) return;
  errno = error.value();
  raise_errno(path, "can't be removed");
}

}  // namespace

void move_folder(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code kept;  // remains do no harm
  if (!std::filesystem::exists(to)) {
    rename_or_raise(from, to);
  } else if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
    std::filesystem::remove_all(from, kept);
  } else {
    const auto old = discarded_name(to);
    remove_or_raise(old);
    rename_or_raise(to, old);
    rename_or_raise(from, to);
    std::filesystem::remove_all(old, kept);
  }
  sync_folder(to.parent_path());
}

void discard_folder(const std::filesystem::path& folder) {
  const auto discarded = discarded_name(folder);
  remove_or_raise(discarded);
  rename_or_raise(folder, discarded);
  sync_folder(folder.parent_path());
  remove_or_raise(discarded);
}

}  // namespace penstock::runtime
