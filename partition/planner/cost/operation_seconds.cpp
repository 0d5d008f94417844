#include "partition/planner/cost/operation_seconds.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace penstock::partition {

double product_seconds(const ProductShape& shape, double rate, const DeviceRates& rates) {
  const double tile = rates.tile, all = rates.multiprocessors;
  const double tiles = std::ceil(shape.rows / tile) * std::ceil(shape.cols / tile);
  const double tile_seconds = 2 * tile * tile * shape.inner * all / rate;  // on one multiprocessor
  if (tiles >= all) return std::ceil(tiles / all) * tile_seconds;
  const double slices = std::max(1.0, std::floor(shape.inner / rates.slice));
  return tile_seconds / std::clamp(std::floor(all / std::max(1.0, tiles)), 1.0, slices);
}

double recurrence_seconds(const RecurrenceWork& work, std::span<const std::int64_t> lengths,
                          const DeviceRates& rates) {
  std::vector<std::int64_t> longest(lengths.begin(), lengths.end());
  std::ranges::sort(longest, std::greater{});
  const bool cached = work.weight_bytes <= rates.cache_bytes;
  const double reading =
      rates.weight_reading * work.weight_bytes / (cached ? rates.cache_bandwidth : rates.bandwidth);
  // `longest` is sorted. Between the ends of utterances i + 1 and i, i + 1 utterances have a frame
  // left.
  double seconds = 0;
  for (std::size_t i = 0; i < longest.size(); ++i) {
    const std::int64_t next = i + 1 < longest.size() ? longest[i + 1] : 0;
    const double arithmetic = static_cast<double>(i + 1) * work.frame_operations / rates.recurrence;
    seconds +=
        static_cast<double>(longest[i] - next) * (rates.time_step + std::max(reading, arithmetic));
  }
  return seconds;
}

}  // namespace penstock::partition
