#pragma once

#include <signal.h>

#include <initializer_list>

namespace penstock::layers {

/// As long as it lives, the calling thread takes no signals but those that tell of a fault of its
/// own. Threads that it starts meanwhile never do.
///
/// oneDNN's dnnl_sgemm points the stack pointer into a buffer that it works in. The kernel would
/// write the frame of a handler there, over numbers or whatever lies below the buffer.
class [[nodiscard]] HeldSignals {
 public:
  HeldSignals() noexcept {
    sigset_t held;
    sigfillset(&held);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
      sigdelset(&held, fault);
    pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace penstock::layers
