#include "tools/cli/process_end.h"

#include <signal.h>

#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "base/file_handle.h"
#include "runtime/store/store_error.h"

namespace penstock::tools {
namespace {

/// Returns the signals by which batch systems announce that a job's time is over.
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

// docs/errors.md lists the codes. Checkpoints share one with other files of a run, such as indexes
// of manifests.
ExitCode exit_code(const std::exception& error) {
  if (dynamic_cast<const ConfigError*>(&error) != nullptr) return exit_usage;
  // A StoreError that gets here is about data: checkpoints have an error of their own.
  if (dynamic_cast<const DataError*>(&error) != nullptr ||
      dynamic_cast<const runtime::StoreError*>(&error) != nullptr)
    return exit_data;
  if (dynamic_cast<const CheckpointError*>(&error) != nullptr ||
      dynamic_cast<const FileError*>(&error) != nullptr)
    return exit_checkpoint;
  return exit_other;
}

// _Exit() runs no destructors and no handlers of atexit, any of which may be what hangs. The thread
// is detached, so a process that ends in time does not wait for it.
void end_process_within(std::chrono::milliseconds limit, int code) {
  std::thread([limit, code] {
    std::this_thread::sleep_for(limit);
    std::_Exit(code);
  }).detach();
}

void block_stop_signals() noexcept {
  const sigset_t signals = stop_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

// The reader is started once the signals are blocked, so that it and its descendants block them
// too.
StopSignals::StopSignals() {
  block_stop_signals();
  reader_ = std::thread([this] { read_signals(); });
}

/// Leaves the signals blocked if one has come: a further one, while the last request is answered,
/// must not change the exit code.
StopSignals::~StopSignals() {
  // The reader waits in sigwait(), from which only a signal wakes it. This one counts as no
  // request, since ending_ is set first.
  ending_ = true;
  pthread_kill(reader_.native_handle(), SIGUSR1);
  reader_.join();
  if (!came_) unblock_stop_signals();
}

bool StopSignals::asked() {
  heeded_ = true;
  return came_;
}

// Until asked() is called for the first time, nobody would heed a request, for example while data
// are loaded. Up to that call a signal ends the process as if it were not blocked.
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
