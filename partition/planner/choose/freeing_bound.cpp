#include "partition/planner/choose/freeing_bound.h"

#include <algorithm>
#include <limits>

namespace penstock::partition {

FreeingBound::FreeingBound(std::span<const double> bytes, std::span<const double> seconds) {
  std::vector<std::size_t> best;
  for (std::size_t layer = 0; layer < bytes.size(); ++layer)
    if (bytes[layer] > 0) best.push_back(layer);
  std::ranges::stable_sort(best, [&](std::size_t one, std::size_t other) {
    return bytes[one] * seconds[other] > bytes[other] * seconds[one];
  });
  for (std::size_t first = 0; first <= bytes.size(); ++first) {
    Sums sums{{0}, {0}};  // bytes rise along the list, by less and less per second
    for (const std::size_t layer : best) {
      if (layer < first) continue;
      sums.bytes.push_back(sums.bytes.back() + bytes[layer]);
      sums.seconds.push_back(sums.seconds.back() + seconds[layer]);
    }
    from_.push_back(std::move(sums));
  }
}

double FreeingBound::seconds(int first, double bytes) const {
  if (bytes <= 0) return 0;
  const Sums& sums = from_[std::min<std::size_t>(first, from_.size() - 1)];
  const auto enough = std::ranges::lower_bound(sums.bytes, bytes) - sums.bytes.begin();
  if (enough == std::ssize(sums.bytes)) return std::numeric_limits<double>::infinity();
  const double share =
      (bytes - sums.bytes[enough - 1]) / (sums.bytes[enough] - sums.bytes[enough - 1]);
  return sums.seconds[enough - 1] + share * (sums.seconds[enough] - sums.seconds[enough - 1]);
}

}  // namespace penstock::partition
