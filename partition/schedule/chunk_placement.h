#pragma once

#include <vector>

namespace penstock::partition {

/// Returns the rank of each chunk if chunks go round the ranks: 0 1 2 0 1 2.
[[nodiscard]] std::vector<int> chunks_in_loops(int stages, int chunks);

/// Returns the rank of each chunk if the second half of the chunks goes back: 0 1 2 2 1 0.
[[nodiscard]] std::vector<int> chunks_in_a_v(int stages);

}  // namespace penstock::partition
