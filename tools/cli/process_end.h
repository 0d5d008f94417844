#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

#include "runtime/job/exit_code.h"

namespace penstock::tools {

// These functions end the process: on request by a signal, with an exit code for each kind of
// error, and within a limit.

using runtime::ExitCode;
using enum runtime::ExitCode;

/// Returns the exit code of an error that nothing caught: ConfigError 2, DataError 3,
/// CheckpointError 4, anything else 1.
[[nodiscard]] ExitCode exit_code(const std::exception& error);

/// Ends this process with `code` if it still runs after `limit`. A failed rank that frees NCCL's
/// communicators or device memory may wait for ever.
void end_process_within(std::chrono::milliseconds limit, int code);

/// Blocks SIGTERM and SIGUSR1 on the calling thread and on those that it starts later. Batch
/// systems announce the end of a job by these signals.
void block_stop_signals() noexcept;

/// Takes SIGTERM and SIGUSR1 as requests to stop. They interrupt no thread that computes: all
/// threads block them, and one thread reads them and does nothing else. So no signal frame lies on
/// the stack of a computing thread, where oneDNN's products keep numbers
/// (docs/design/stop-requests.md).
///
/// All threads of the process must have called block_stop_signals(), or descend from one that has;
/// otherwise a signal ends the process. A signal also ends it before the first call of asked(), and
/// after the object's life if none has come during it.
class [[nodiscard]] StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  /// Returns true if a signal has come since the first call.
  bool asked();

 private:
  void read_signals();

  std::atomic<bool> heeded_ = false, came_ = false, ending_ = false;
  std::thread reader_;  // last: it uses the others
};

}  // namespace penstock::tools
