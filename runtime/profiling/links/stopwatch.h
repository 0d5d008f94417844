#pragma once

#include <chrono>
#include <functional>

namespace penstock::runtime {

/// Returns the seconds that `work` takes by the steady clock.
inline double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace penstock::runtime
