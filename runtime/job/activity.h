#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace penstock::runtime {

/// The phases of a rank of a training. Each has its own limit for how long it may take.
enum class Phase { start, step, save, validation, end };

/// Returns "start", "step", "save", "validation" or "end".
[[nodiscard]] std::string_view name_of(Phase phase);
/// Returns the phase of that name. std::invalid_argument for another text.
[[nodiscard]] Phase phase_of(std::string_view name);

/// Describes the work of a rank at one moment.
struct RankActivity {
  int rank = 0, stage = -1, replica = -1;  // stage and replica are -1 until the run is planned
  std::string host = {};
  std::int64_t process = 0;
  Phase phase = Phase::start;
  std::int64_t step = 0, steps = 0;  // steps done, and the step at which the run stops
  std::string action = {};           // "forward of micro-batch 3 on chunk 1"; empty between actions
  std::int64_t events = 0;           // events so far; a rank that makes progress has new ones
  double seconds = 0;                // time since the last event
  double planned_s = 0;              // planned time of the action; 0: unknown
  int waits_for = -1;                // rank whose message it waits for; -1: none
  /// Time in which it computed during the last whole step, and the planned time of that.
  double busy_s = 0, planned_busy_s = 0;
  double step_s = 0;  // time of the last whole step; 0: there was none
  double save_s = 0;  // time of the last save that training waited for

  bool operator==(const RankActivity&) const = default;
};

/// Returns what the rank does, in words: "stage 1, forward of micro-batch 3 on chunk 1, waiting for
/// rank 0".
[[nodiscard]] std::string describe(const RankActivity& activity);

/// Records what this rank is doing, for a supervisor that watches the job. The rank's thread writes
/// it and a heartbeat's thread reads it. A record takes less than a microsecond, and is made even
/// if nobody watches.
class Activity {
 public:
  Activity();

  /// Sets the rank's place in the plan. It is known once the run is planned.
  void place(int rank, int stage, int replica);
  void enter(Phase phase, std::int64_t step, std::int64_t steps);
  /// Begins an action with its planned seconds; 0 if they are unknown.
  void begin(std::string_view action, int micro_batch, int chunk, double planned_s);
  void end_action();
  /// Says that the rank waits for a message of another one, until go_on().
  void wait_for(int rank);
  void go_on();
  /// Says that the rank got further with a long task.
  void advance();
  /// Ends a step: its busy time becomes that of the last whole step.
  void end_step(std::int64_t step);

  [[nodiscard]] RankActivity now() const;

 private:
  using Clock = std::chrono::steady_clock;
  void note_event();

  mutable std::mutex mutex_;
  RankActivity known_;
  std::string_view action_ = {};  // name of the action, which outlives it
  int micro_batch_ = 0, chunk_ = 0;
  Clock::time_point last_event_, began_, waiting_since_, phase_began_, step_began_;
  double waited_s_ = 0;                     // within the current action
  double busy_s_ = 0, planned_busy_s_ = 0;  // of the current step
};

}  // namespace penstock::runtime
