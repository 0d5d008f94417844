#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <utility>

namespace penstock {

/// A time limit, after which a search has to return its best result. A search polls it from any
/// thread; once the time is over it stays over.
class TimeLimit {
 public:
  using Clock = std::function<double()>;  // seconds since any fixed moment

  /// Starts the limit. The clock must never go back, and any searching thread may call it; tests
  /// pass their own.
  explicit TimeLimit(double seconds, Clock clock = steady_seconds)
      : seconds_(seconds), clock_(std::move(clock)), end_(clock_() + seconds) {}
  TimeLimit(const TimeLimit& other)
      : seconds_(other.seconds_),
        clock_(other.clock_),
        end_(other.end_),
        over_(other.over_.load()) {}

  bool is_over() const {
    if (!over_ && clock_() >= end_) over_ = true;
    return over_;
  }
  /// Returns true if is_over() has returned true.
  bool ended_a_search() const { return over_; }
  double seconds() const { return seconds_; }

  static double steady_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

 private:
  double seconds_;
  Clock clock_;
  double end_;
  mutable std::atomic<bool> over_ = false;
};

/// Returns false if there is no limit.
inline bool is_over(const TimeLimit* limit) { return limit != nullptr && limit->is_over(); }

}  // namespace penstock
