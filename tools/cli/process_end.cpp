#include "tools/cli/process_end.h"

#include <signal.h>

#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "base/file_handle.h"

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

ExitCode exit_code(const std::exception& error) {
  if (dynamic_cast<const ConfigError*>(&error) != nullptr) return exit_usage;
  if (dynamic_cast<const DataError*>(&error) != nullptr) return exit_data;
  if (dynamic_cast<const CheckpointError*>(&error) != nullptr ||
      dynamic_cast<const FileError*>(&error) != nullptr)
    return exit_checkpoint;
  return exit_other;
}

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
