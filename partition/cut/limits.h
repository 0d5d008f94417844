#pragma once

#include <limits>

namespace penstock::partition {

/// Seconds, or bytes, of what can't be done.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

/// Times a sum: what the same numbers may come to if they are added in another order.
inline constexpr double kRounding = 1 + 1e-12;

/// Times a value: what one that counts as better stays below.
inline constexpr double kWorthwhile = 1 - 1e-12;

/// Times a value: what one stays below that is worth telling a person.
inline constexpr double kClearly = 0.995;

}  // namespace penstock::partition
