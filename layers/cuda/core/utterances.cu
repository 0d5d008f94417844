#include <numeric>
#include <vector>

#include "layers/cuda/core/launch.h"
#include "layers/cuda/core/utterances.h"

namespace penstock::layers::cuda {
namespace {

/// Finds the utterance of each row, one thread for each. An utterance without frames has no rows:
/// the next one starts at the same row, and is found instead.
__global__ void find_utterances(const std::int64_t* starts, int count, std::int64_t rows,
                                std::int32_t* of_row) {
  const std::int64_t row = grid_thread();
  if (row < rows) of_row[row] = last_at_or_before(starts, count, row);
}

}  // namespace

std::vector<std::int64_t> starts_of(std::span<const std::int64_t> lengths) {
  std::vector<std::int64_t> starts(lengths.size() + 1);
  std::partial_sum(lengths.begin(), lengths.end(), starts.begin() + 1);
  return starts;
}

Utterances upload_utterances(CudaStream& stream, std::span<const std::int64_t> lengths,
                             const UtterancesWorkspace& room) {
  const auto starts = starts_of(lengths);
  stream.copy_in(room.starts, starts.data(), starts.size() * sizeof(std::int64_t));
  launch(stream.handle(), grid_over(starts.back()), find_utterances, room.starts,
         static_cast<int>(lengths.size()), starts.back(), room.of_row);
  return {room.starts, room.of_row};
}

}  // namespace penstock::layers::cuda
