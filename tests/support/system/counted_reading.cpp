#include "tests/support/system/counted_reading.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace penstock::test {
namespace {

Reading& of_thread() {
  thread_local Reading counted;
  return counted;
}

}  // namespace

void start_reading() { of_thread() = {}; }
const Reading& reading() { return of_thread(); }

}  // namespace penstock::test

// The linker's --wrap puts these functions in the place of open() and madvise().
extern "C" {

int __wrap_open(const char* path, int flags, int mode);
int __wrap_open(const char* path, int flags, int mode) {
  if ((flags & O_ACCMODE) == O_RDONLY) penstock::test::of_thread().opened.emplace_back(path);
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int __wrap_madvise(void* data, std::size_t bytes, int advice);
int __wrap_madvise(void* data, std::size_t bytes, int advice) {
  if (advice == MADV_DONTNEED) penstock::test::of_thread().mapped += bytes;
  return static_cast<int>(::syscall(SYS_madvise, data, bytes, advice));
}
}
