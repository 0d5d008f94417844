#include "base/time_limit.h"

#include <chrono>
#include <utility>

namespace penstock {

TimeLimit::TimeLimit(double seconds, Clock clock)
    : seconds_(seconds), clock_(std::move(clock)), end_(clock_() + seconds) {}

TimeLimit::TimeLimit(const TimeLimit& other)
    : seconds_(other.seconds_), clock_(other.clock_), end_(other.end_), over_(other.over_.load()) {}

bool TimeLimit::is_over() const {
  if (!over_ && clock_() >= end_) over_ = true;
  return over_;
}

double TimeLimit::steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace penstock
