// The linker's --wrap puts this function in the place of write(). It makes blocks of zeros holes of
// the file, so that a checkpoint of a large model takes little of a disk. Whoever reads the file
// finds the same bytes.

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "tests/measure/large_checkpoint/zero_bytes.h"

namespace penstock::test {
namespace {

bool is_file(int file) {
  struct stat status {};
  return ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

/// Writes what is left of a block, or leaves it out. What write(2) returns.
ssize_t write_block(int file, std::span<const std::byte> part) {
  if (is_zero(part)) return ::lseek(file, std::ssize(part), SEEK_CUR) < 0 ? -1 : std::ssize(part);
  return ::syscall(SYS_write, file, part.data(), part.size());
}

/// Files that are written from their beginning to their end, as AtomicFile writes them.
ssize_t write_sparsely(int file, std::span<const std::byte> bytes) {
  const off_t begin = ::lseek(file, 0, SEEK_CUR);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::size_t within = (static_cast<std::size_t>(begin) + done) % kPage;
    const std::size_t size = std::min(bytes.size() - done, kPage - within);
    const ssize_t written = write_block(file, bytes.subspan(done, size));
    if (written < 0) return -1;
    done += static_cast<std::size_t>(written);
  }
  const off_t end = begin + static_cast<off_t>(done);
  return ::ftruncate(file, end) == 0 ? static_cast<ssize_t>(done) : -1;
}

}  // namespace
}  // namespace penstock::test

extern "C" {

ssize_t __wrap_write(int file, const void* data, std::size_t bytes);
ssize_t __wrap_write(int file, const void* data, std::size_t bytes) {
  if (bytes < penstock::test::kPage || !penstock::test::is_file(file))
    return ::syscall(SYS_write, file, data, bytes);
  return penstock::test::write_sparsely(file, {static_cast<const std::byte*>(data), bytes});
}
}
