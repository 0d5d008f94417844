#include "layers/ops/recurrence.h"

#include <algorithm>
#include <numeric>

#include "layers/cpu/sizes.h"
#include "layers/cuda/recurrence/recurrence_sizes.h"

namespace penstock::layers {

std::int64_t RecurrenceShape::frames() const {
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

std::int64_t RecurrenceShape::gates() const {
  switch (kind) {
    case RecurrenceKind::tanh:
      return 1;
    case RecurrenceKind::gru:
      return 3;
    case RecurrenceKind::lstm:
      return 4;
  }
  return 0;
}

// A tanh recurrence keeps h'. A GRU keeps r, z, n and U_n h + c_n, and an LSTM i, f, g and o. From
// these, backward has every slope without a product.
std::int64_t RecurrenceShape::kept() const { return kind == RecurrenceKind::tanh ? 1 : 4; }

Workspace recurrence_workspace(const BackendSizes& sizes, const RecurrenceShape& shape) {
  return sizes.device == DeviceKind::cuda ? cuda::recurrence_workspace(shape, sizes.compute)
                                          : cpu::recurrence_workspace(shape, sizes.compute);
}

// Utterances of 3, 5 and 2 frames get the ranks 1, 0 and 2: steps 0 and 1 take three frames each,
// step 2 takes two, and steps 3 and 4 take one. Equal lengths keep their order, so the same lengths
// always give the same order of sums.
FrameOrder::FrameOrder(std::span<const std::int64_t> lengths, bool backwards)
    : backwards_(backwards) {
  std::vector<std::size_t> by_length(lengths.size());
  std::iota(by_length.begin(), by_length.end(), std::size_t{0});
  std::stable_sort(by_length.begin(), by_length.end(),
                   [&](std::size_t a, std::size_t b) { return lengths[a] > lengths[b]; });
  std::vector<std::int64_t> starts(lengths.size());
  std::exclusive_scan(lengths.begin(), lengths.end(), starts.begin(), std::int64_t{0});
  for (const std::size_t utterance : by_length) {
    lengths_.push_back(lengths[utterance]);
    first_rows_.push_back(starts[utterance] + (backwards ? lengths[utterance] - 1 : 0));
  }
}

// Lengths fall with the rank, so those longer than `step` come first.
std::int64_t FrameOrder::active(std::int64_t step) const {
  const auto ended = std::partition_point(lengths_.begin(), lengths_.end(),
                                          [&](std::int64_t length) { return length > step; });
  return ended - lengths_.begin();
}

}  // namespace penstock::layers
