#pragma once

#include <vector>

namespace penstock {

/// Returns 0 … count − 1, sorted by their bits read from the lowest to the highest: 0, 4, 2, 6, 1,
/// 5, 3, 7 for 8. Numbers that agree in their lowest bits are adjacent, for every count.
[[nodiscard]] std::vector<int> bit_reversed(int count);

/// Returns the position of each number in bit_reversed().
[[nodiscard]] std::vector<int> bit_reversed_places(int count);

}  // namespace penstock
