#pragma once

#include <signal.h>

#include <initializer_list>

namespace penstock::layers {

/// Blocks signals on the calling thread while the object lives, except those that report a fault of
/// the thread itself. Threads that are started meanwhile keep them blocked.
///
/// oneDNN's dnnl_sgemm points the stack pointer into a buffer that it works in. The kernel would
/// write a handler's frame there, over numbers or over whatever lies below the buffer.
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
