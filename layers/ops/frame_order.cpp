#include "layers/ops/frame_order.h"

#include <algorithm>
#include <numeric>

namespace penstock::layers {

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
