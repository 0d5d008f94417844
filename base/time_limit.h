#pragma once

#include <atomic>
#include <functional>

namespace penstock {

/// Seconds within which a search has to end with the best that it has. Whoever searches asks now
/// and then, on any thread; once the time is over it stays so.
class TimeLimit {
 public:
  using Clock = std::function<double()>;  // seconds since any moment

  /// From now on, by a clock that never goes back and that any thread that searches may ask; tests
  /// may bring their own.
  explicit TimeLimit(double seconds, Clock clock = steady_seconds);
  TimeLimit(const TimeLimit& other);

  bool is_over() const;
  /// Whether a search was told that it is over.
  bool ended_a_search() const { return over_; }
  double seconds() const { return seconds_; }

  static double steady_seconds();

 private:
  double seconds_;
  Clock clock_;
  double end_;
  mutable std::atomic<bool> over_ = false;
};

/// Of a search that may have no limit.
inline bool is_over(const TimeLimit* limit) { return limit != nullptr && limit->is_over(); }

}  // namespace penstock
