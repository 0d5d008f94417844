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

std::int64_t RecurrenceShape::kept() const { return kind == RecurrenceKind::tanh ? 1 : 4; }

Workspace recurrence_workspace(const BackendSizes& sizes, const RecurrenceShape& shape) {
  return sizes.device == DeviceKind::cuda ? cuda::recurrence_workspace(shape, sizes.compute)
                                          : cpu::recurrence_workspace(shape, sizes.compute);
}

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

std::int64_t FrameOrder::active(std::int64_t step) const {
  const auto ended = std::partition_point(lengths_.begin(), lengths_.end(),
                                          [&](std::int64_t length) { return length > step; });
  return ended - lengths_.begin();
}

}  // namespace penstock::layers
