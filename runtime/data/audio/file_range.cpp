#include "runtime/data/audio/file_range.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"

namespace penstock::runtime {
namespace {

FileHandle opened(const std::filesystem::path& file) try {
  return {file, O_RDONLY};
} catch (const FileError& error) {
  throw DataError(error.missing() ? file.string() + ": no such file" : error.what());
}

}  // namespace

FileRange::FileRange(const std::filesystem::path& file) : file_(opened(file)) {
  struct stat status = {};
  if (::fstat(file_.descriptor(), &status) != 0 || !S_ISREG(status.st_mode))
    throw DataError(file.string() + (S_ISDIR(status.st_mode) ? ": a folder, not a file"
                                                             : ": not a file that can be read"));
  size_ = status.st_size;
}

void FileRange::narrow(std::int64_t first, std::int64_t bytes) {
  first_ += first;
  size_ = std::clamp<std::int64_t>(size_ - first, 0, bytes);
}

std::int64_t FileRange::read(std::int64_t at, std::span<char> bytes) const noexcept {
  const std::int64_t wanted = std::clamp<std::int64_t>(size_ - at, 0, std::ssize(bytes));
  std::int64_t done = 0;
  while (done < wanted) {
    const ssize_t count = ::pread(file_.descriptor(), bytes.data() + done,
                                  static_cast<std::size_t>(wanted - done), first_ + at + done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += count;
  }
  return done;
}

std::string FileRange::read(std::int64_t at, std::int64_t bytes) const {
  std::string text(static_cast<std::size_t>(std::clamp<std::int64_t>(size_ - at, 0, bytes)), '\0');
  text.resize(static_cast<std::size_t>(read(at, std::span(text))));
  return text;
}

}  // namespace penstock::runtime
