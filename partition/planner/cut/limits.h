#pragma once

#include <limits>

namespace penstock::partition {

/// Seconds or bytes of something infeasible.
inline constexpr double kInfeasible = std::numeric_limits<double>::infinity();

/// A factor on a sum: an upper bound on the sum of the same numbers in another order of addition.
inline constexpr double kRounding = 1 + 1e-12;

/// A factor on a value: a value counts as better only if it is below this multiple.
inline constexpr double kBetter = 1 - 1e-12;

/// A factor on a value: a gain is worth reporting only if the value falls below this multiple.
inline constexpr double kClearly = 0.995;

}  // namespace penstock::partition
