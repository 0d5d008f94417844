#include "base/time_limit.h"

#include <chrono>
#include <utility>

namespace penstock {

TimeLimit::TimeLimit(double seconds, Clock clock)
    : seconds_(seconds), clock_(std::move(clock)), end_(clock_() + seconds) {}

bool TimeLimit::is_over() const {
  over_ = over_ || clock_() >= end_;
  return over_;
}

double TimeLimit::steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace penstock
