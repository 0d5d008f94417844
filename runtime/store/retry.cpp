#include "runtime/store/retry.h"

#include <algorithm>
#include <utility>

namespace penstock::runtime {

bool worth_repeating(int status) {
  return status == 408 || status == 429 || status == 500 || (status >= 502 && status <= 504);
}

Backoff::Backoff(const RetryRules& rules, std::uint64_t seed, TimeLimit::Clock clock)
    : rules_(rules),
      random_(seed),
      clock_(std::move(clock)),
      end_(clock_() + rules.seconds),
      limit_(rules.first) {}

std::optional<std::chrono::milliseconds> Backoff::next(std::chrono::milliseconds retry_after) {
  std::uniform_int_distribution<std::int64_t> up_to(0, limit_.count());
  const auto pause = std::max(std::chrono::milliseconds(up_to(random_)), retry_after);
  limit_ = std::min(limit_ * 2, rules_.longest);
  if (clock_() + std::chrono::duration<double>(pause).count() >= end_) return std::nullopt;
  return pause;
}

}  // namespace penstock::runtime
