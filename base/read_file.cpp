#include "base/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/file_handle.h"

namespace penstock {

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
