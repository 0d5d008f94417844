#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/job/activity.h"

namespace penstock::runtime {

// A job hangs if no rank makes progress for longer than the actions of its ranks may take. A rank
// may take max(action_s, action_factor × planned time) for an action, where the planned time is
// scaled up if the last step was slower than planned. While it adds gradients and updates, which
// has no plan of its own, the last whole step counts as planned. The first step may take
// first_step_s, since libraries and devices start in it. Other phases have limits of their own.
// Ranks that wait for a message, and ranks from which nothing is heard, do not extend the limit.
//
// A straggler is a rank whose computing takes more than straggler_factor times as long, beside its
// plan, as the median of the other ranks. It makes progress, so it is reported and not ended.

/// Limits in seconds.
struct WatchLimits {
  double action_s = 10, action_factor = 3;
  double first_step_s = 120;
  double start_s = 1800, save_s = 600, validation_s = 600, end_s = 300;
  double silence_s = 5;  // a rank is silent if it was not heard for so long
  double straggler_factor = 2;
  int straggler_steps = 3;       // consecutive steps in which a rank must be slow
  double straggler_min_s = 0.2;  // time by which it must be slower in each of them
};

/// A job that hangs, and the rank that caused it as far as can be told.
struct Hang {
  RankActivity culprit;
  bool silent = false;            // its process is stopped, or its host is gone
  double seconds = 0, limit = 0;  // time without progress, and its limit
};

struct Straggler {
  RankActivity rank;
  double factor = 1;  // its time beside its plan, relative to the median of the other ranks
};

/// Watches the ranks of one incarnation by their heartbeats. It has no clock: all times are
/// arguments.
class RankWatch {
 public:
  using Time = std::chrono::steady_clock::time_point;

  RankWatch(const WatchLimits& limits, int ranks, Time begin);

  /// Takes a heartbeat. One of a rank beyond the job's ranks is ignored.
  void hear(const RankActivity& activity, Time now);
  /// Moves all times by `gap`, in which the watching process did not run itself.
  void forgive(std::chrono::steady_clock::duration gap);

  [[nodiscard]] std::optional<Hang> find_hang(Time now) const;
  /// Returns a straggler that was not returned before.
  [[nodiscard]] std::optional<Straggler> take_straggler();

  /// Returns true once every rank has begun its first step.
  [[nodiscard]] bool running() const;
  /// Returns the last heartbeat of every rank that was heard.
  [[nodiscard]] std::vector<RankActivity> activities() const;
  [[nodiscard]] std::int64_t step() const;

 private:
  struct Rank {
    std::optional<RankActivity> last;
    Time heard, progressed;
    int slow_steps = 0;
    bool reported = false;  // as a straggler
  };
  double allowed_seconds(const RankActivity& activity) const;
  bool silent(const Rank& rank, Time now) const;
  const Rank* culprit(Time now) const;
  double median_slowness_of_others(int rank) const;
  void count_slow_step(int rank);

  WatchLimits limits_;
  std::vector<Rank> ranks_;
  std::optional<Straggler> straggler_;
};

/// Describes a hang for people: "no rank made progress for 14 s (limit 10 s): rank 2 on lion is
/// silent, last seen in stage 1, forward of micro-batch 3 on chunk 1".
[[nodiscard]] std::string describe(const Hang& hang);
[[nodiscard]] std::string describe(const Straggler& straggler);

}  // namespace penstock::runtime
