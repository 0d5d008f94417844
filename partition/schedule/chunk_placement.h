#pragma once

#include <vector>

namespace penstock::partition {

/// Rank of each chunk, where chunks go around the ranks: 0 1 2 0 1 2.
[[nodiscard]] std::vector<int> chunks_in_loops(int stages, int chunks);

/// Rank of each chunk, where the second ones go back from the last rank to the first: 0 1 2 2 1 0.
[[nodiscard]] std::vector<int> chunks_in_a_v(int stages);

}  // namespace penstock::partition
