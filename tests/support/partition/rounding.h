#pragma once

namespace penstock::test {

/// By how much two sums of the same numbers may differ if they are added in another order,
/// relative.
inline constexpr double rounding = 1e-9;

}  // namespace penstock::test
