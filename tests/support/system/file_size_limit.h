#pragma once

#include <signal.h>
#include <sys/resource.h>

namespace penstock::test {

/// While it lives, this process can write no file beyond so many bytes: the call fails, as on a
/// full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : before_(limit()), handler_(::signal(SIGXFSZ, SIG_IGN)) {
    rlimit lower = before_;
    lower.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &lower);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  static rlimit limit() {
    rlimit now{};
    ::getrlimit(RLIMIT_FSIZE, &now);
    return now;
  }

  rlimit before_;
  void (*handler_)(int);
};

}  // namespace penstock::test
