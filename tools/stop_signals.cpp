#include "tools/stop_signals.h"

#include <atomic>

namespace penstock::tools {
namespace {

// The one thing that a handler can reach. Threads that take no signals instead, and one that waits
// for them, would need to be there before those that libraries start when they are loaded.
std::atomic<bool> came = false;
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void take_signal(int) { came = true; }

}  // namespace

bool StopSignals::asked() {
  if (heeded_) return came;
  heeded_ = true;
  came = false;
  struct sigaction action {};
  action.sa_handler = take_signal;
  action.sa_flags = SA_RESTART;  // who reads, writes or waits notices nothing
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &before_[i]);
  return false;
}

StopSignals::~StopSignals() {
  for (std::size_t i = 0; heeded_ && i < kSignals.size(); ++i)
    ::sigaction(kSignals[i], &before_[i], nullptr);
}

}  // namespace penstock::tools
