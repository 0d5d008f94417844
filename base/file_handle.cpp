#include "base/file_handle.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace penstock {

FileHandle::FileHandle(std::filesystem::path path, int flags, int mode) : path_(std::move(path)) {
  do descriptor_ = ::open(path_.c_str(), flags | O_CLOEXEC, mode);
  while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0) raise_errno(path_, "can't be opened");
}

FileHandle::~FileHandle() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// A write may take fewer bytes than it was given, and a signal may interrupt it before the first
// one.
void FileHandle::write(std::span<const std::byte>& bytes) const {
  constexpr std::size_t kMax = std::size_t{1} << 30;  // Linux writes less than 2 GiB a call
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kMax));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) raise_errno(path_, "can't be written");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void FileHandle::close() {
  // After an error of close(2) the descriptor's state is unspecified; Linux always closes it.
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR)
    raise_errno(path_, "can't be closed");
}

void raise_errno(const std::filesystem::path& path, const std::string& what) {
  const int code = errno;
  const std::string why = std::generic_category().message(code);
  throw FileError(path, fmt::format("{}: {}: {}", path.string(), what, why),
                  static_cast<std::errc>(code));
}

// The size is not asked for: files of /proc have none, and a file may grow while it is read.
std::string read_file(const std::filesystem::path& path) {
  constexpr std::size_t kBlock = 1 << 16;
  const FileHandle file(path, O_RDONLY);
  std::string bytes;
  for (;;) {
    const std::size_t size = bytes.size();
    bytes.resize(size + kBlock);
    const ssize_t got = ::read(file.descriptor(), bytes.data() + size, kBlock);
    bytes.resize(size + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got < 0 && errno != EINTR) raise_errno(path, "can't be read");
    if (got == 0) return bytes;
  }
}

}  // namespace penstock
