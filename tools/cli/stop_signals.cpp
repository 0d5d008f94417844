#include "tools/cli/stop_signals.h"

#include <signal.h>

namespace penstock::tools {
namespace {

sigset_t stop_signals() noexcept {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGUSR1);
  return signals;
}

void unblock_stop_signals() noexcept {
  const sigset_t signals = stop_signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace

void block_stop_signals() noexcept {
  const sigset_t signals = stop_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

StopSignals::StopSignals() {
  block_stop_signals();
  reader_ = std::thread([this] { read_signals(); });
}

/// Leaves the signals blocked if one has come: a further one, while the last request is answered,
/// must not change the exit code.
StopSignals::~StopSignals() {
  ending_ = true;
  pthread_kill(reader_.native_handle(), SIGUSR1);
  reader_.join();
  if (!came_) unblock_stop_signals();
}

bool StopSignals::asked() {
  heeded_ = true;
  return came_;
}

void StopSignals::read_signals() {
  const sigset_t signals = stop_signals();
  for (int signal = 0; sigwait(&signals, &signal) == 0 && !ending_;) {
    if (heeded_) {
      came_ = true;
      continue;
    }
    unblock_stop_signals();  // on this thread: the signal has its default effect
    raise(signal);
    block_stop_signals();  // reached if the parent process had it ignored
  }
}

}  // namespace penstock::tools
