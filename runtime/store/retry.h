#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>

#include "base/time_limit.h"

namespace penstock::runtime {

/// Says how a request is repeated.
struct RetryRules {
  std::chrono::milliseconds first = std::chrono::milliseconds(200);      // limit of the first pause
  std::chrono::milliseconds longest = std::chrono::milliseconds(20000);  // limit of any pause
  double seconds = 300;  // no attempt begins later than this after the first
};

/// Returns true for an HTTP status that may go away: 408, 429, 500, 502, 503 and 504.
[[nodiscard]] bool worth_repeating(int status);

/// The pauses between the attempts of one request: exponential back-off with full jitter. Pause n
/// is uniform between 0 and min(longest, first · 2ⁿ), so that clients that fail together don't
/// return together. Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
class Backoff {
 public:
  explicit Backoff(const RetryRules& rules, std::uint64_t seed = std::random_device()(),
                   TimeLimit::Clock clock = TimeLimit::steady_seconds);

  /// Returns the next pause, at least `retry_after`, which the server may have asked for. Returns
  /// nothing if the time is over or would be over after it.
  [[nodiscard]] std::optional<std::chrono::milliseconds> next(
      std::chrono::milliseconds retry_after = {});

 private:
  RetryRules rules_;
  std::mt19937_64 random_;
  TimeLimit::Clock clock_;
  double end_;
  std::chrono::milliseconds limit_;
};

}  // namespace penstock::runtime
