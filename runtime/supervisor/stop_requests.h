#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "runtime/supervisor/child_process.h"
#include "runtime/supervisor/cloud_notice.h"

namespace penstock::runtime {

/// Why a supervised run is to stop.
enum class StopReason {
  none,
  signal,  // SIGTERM, SIGUSR1, SIGINT or SIGHUP
  notice,  // the machine will be taken away
  time,    // max_seconds are over soon
};

/// Returns "a signal", "a notice of preemption" or "the end of --max-seconds".
[[nodiscard]] std::string describe(StopReason reason);

/// Notices of the environment, besides signals. Empty or 0 means none.
struct NoticeOptions {
  std::string file = {};     // a file that appears
  std::string command = {};  // a shell command that succeeds
  std::string cloud = {};    // "aws", "gcp" or "azure", whose metadata service is asked
  double every_s = 5;        // between two questions; a command is ended by force after as long
  double max_seconds = 0;    // time that the run may take
};

/// Collects requests to stop a supervised run: signals, notices, and the time. While it
/// lives, the calling thread blocks SIGTERM, SIGUSR1, SIGINT, SIGHUP and SIGPIPE, and so must all
/// threads that were started before: see block_supervisor_signals().
class [[nodiscard]] StopRequests {
 public:
  /// ConfigError if this is no machine of `options.cloud`.
  explicit StopRequests(NoticeOptions options);
  StopRequests(const StopRequests&) = delete;
  StopRequests& operator=(const StopRequests&) = delete;
  ~StopRequests();

  /// Becomes readable when a signal comes; for poll(2).
  int descriptor() const { return signals_; }

  /// Returns the reason to stop, which stays once there is one. `reserve_s` is the time that a stop
  /// takes, and is kept free before max_seconds.
  StopReason reason(double reserve_s);
  /// True after a second SIGINT: the user wants the run to end without a save.
  [[nodiscard]] bool impatient() const { return interrupts_ > 1; }

  /// Waits; returns earlier, with true, if there is a reason to stop.
  bool wait(double seconds);

  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  void read_signals();
  bool noticed();

  NoticeOptions options_;
  int signals_ = -1, interrupts_ = 0;
  StopReason reason_ = StopReason::none;
  Clock::time_point begin_ = Clock::now(), asked_{};
  std::unique_ptr<ChildProcess> asking_;  // the command, while it runs
  std::unique_ptr<CloudNotice> cloud_;
};

/// Blocks the signals of StopRequests on this thread and those that it starts.
void block_supervisor_signals() noexcept;

}  // namespace penstock::runtime
