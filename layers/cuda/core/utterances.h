#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layers/cuda/core/block.h"
#include "layers/cuda/core/cuda_stream.h"
#include "layers/cuda/core/utterances_sizes.h"

namespace penstock::layers::cuda {

/// The map between rows of a matrix of frames and utterances, in device memory.
struct Utterances {
  const std::int64_t* starts;  // first row of each utterance, then the number of rows
  const std::int32_t* of_row;

  __device__ std::int64_t begin(std::int64_t row) const { return starts[of_row[row]]; }
  __device__ std::int64_t end(std::int64_t row) const { return starts[of_row[row] + 1]; }
};

/// Uploads the map for utterances of these lengths, whose rows follow each other.
Utterances upload_utterances(CudaStream& stream, std::span<const std::int64_t> lengths,
                             const UtterancesWorkspace& room);

/// Returns the running sums of these lengths: where each starts, and then their total.
std::vector<std::int64_t> starts_of(std::span<const std::int64_t> lengths);

/// Returns the last of `count` ascending starts that is ≤ `row`, by binary search.
__device__ inline int last_at_or_before(const std::int64_t* starts, int count, std::int64_t row) {
  int first = 0, end = count;
  while (end - first > 1) {
    const int middle = (first + end) / 2;
    if (starts[middle] <= row)
      first = middle;
    else
      end = middle;
  }
  return first;
}

}  // namespace penstock::layers::cuda
