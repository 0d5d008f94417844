#pragma once

#include <atomic>
#include <thread>

namespace penstock::tools {

/// Blocks SIGTERM and SIGUSR1, by which batch systems announce the end of a job, on the calling
/// thread and on those that it starts from now on.
void block_stop_signals() noexcept;

/// Takes SIGTERM and SIGUSR1 for requests to stop. No thread is interrupted by them: all block
/// them, and one reads them that does nothing else. So no signal's frame lies on the stack of a
/// thread that computes, where oneDNN's products keep numbers (docs/design/stop-requests.md).
///
/// All threads of the process must have called block_stop_signals() or come from one that has, or
/// the signal ends the process. The signals also do so before the first call of asked(), and after
/// the object's life if none has come during it.
class [[nodiscard]] StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  /// Whether one has come since the first call.
  bool asked();

 private:
  void read_signals();

  std::atomic<bool> heeded_ = false, came_ = false, ending_ = false;
  std::thread reader_;  // last: it uses the others
};

}  // namespace penstock::tools
