#include "runtime/checkpoint/durable_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace penstock {
namespace {

std::filesystem::path with_suffix(std::filesystem::path path, const char* suffix) {
  path += suffix;
  return path;
}

void rename_or_raise(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    raise_errno(from, "can't be renamed to " + to.string());
}

void remove_or_raise(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (!error) return;
  errno = error.value();
  raise_errno(path, "can't be removed");
}

}  // namespace

DurableFile::DurableFile(std::filesystem::path path)
    : path_(std::move(path)),
      partial_(with_suffix(path_, ".partial")),
      file_(partial_, O_WRONLY | O_CREAT | O_TRUNC) {}

DurableFile::~DurableFile() {
  if (!partial_.empty()) ::unlink(partial_.c_str());
}

void DurableFile::write(std::span<const std::byte> bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 30;  // Linux writes less than 2 GiB a call
  while (!bytes.empty()) {
    const ssize_t written =
        ::write(file_.descriptor(), bytes.data(), std::min(bytes.size(), kMost));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) raise_errno(path_, "can't be written");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void DurableFile::commit() {
  if (::fsync(file_.descriptor()) != 0) raise_errno(path_, "can't be flushed to the disk");
  file_.close();
  rename_or_raise(partial_, path_);
  partial_.clear();
  sync_folder(path_.parent_path());
}

void write_durably(const std::filesystem::path& path, std::string_view text) {
  DurableFile file(path);
  file.write(text);
  file.commit();
}

void sync_folder(const std::filesystem::path& folder) {
  const FileHandle handle(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
  if (::fsync(handle.descriptor()) != 0) raise_errno(folder, "can't be flushed to the disk");
}

void move_folder(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (!std::filesystem::exists(to)) {
    rename_or_raise(from, to);
  } else if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
    remove_or_raise(from);
  } else {
    const auto old = with_suffix(to, ".discarded");
    remove_or_raise(old);
    rename_or_raise(to, old);
    rename_or_raise(from, to);
    remove_or_raise(old);
  }
  sync_folder(to.parent_path());
}

void discard_folder(const std::filesystem::path& folder) {
  const auto discarded = with_suffix(folder, ".discarded");
  remove_or_raise(discarded);
  rename_or_raise(folder, discarded);
  sync_folder(folder.parent_path());
  remove_or_raise(discarded);
}

}  // namespace penstock
