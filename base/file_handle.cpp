#include "base/file_handle.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

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

void FileHandle::close() {
  // After an error the descriptor's state is unspecified; Linux has always closed it.
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR)
    raise_errno(path_, "can't be closed");
}

void raise_errno(const std::filesystem::path& path, const std::string& what) {
  const int code = errno;
  const std::string why = std::generic_category().message(code);
  throw FileError(fmt::format("{}: {}: {}", path.string(), what, why),
                  static_cast<std::errc>(code));
}

}  // namespace penstock
