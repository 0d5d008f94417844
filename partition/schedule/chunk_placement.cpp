#include "partition/schedule/chunk_placement.h"

#include <algorithm>

namespace penstock::partition {

std::vector<int> chunks_in_loops(int stages, int chunks) {
  std::vector<int> ranks;
  for (int chunk = 0; chunk < chunks * stages; ++chunk) ranks.push_back(chunk % stages);
  return ranks;
}

std::vector<int> chunks_in_a_v(int stages) {
  std::vector<int> ranks;
  for (int chunk = 0; chunk < 2 * stages; ++chunk)
    ranks.push_back(std::min(chunk, 2 * stages - 1 - chunk));
  return ranks;
}

}  // namespace penstock::partition
