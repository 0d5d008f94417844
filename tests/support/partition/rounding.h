#pragma once

namespace penstock::test {

/// Two sums of the same numbers may differ by this much, relative, if they are added in another
/// order.
inline constexpr double rounding = 1e-9;

}  // namespace penstock::test
