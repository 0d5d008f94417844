#include "partition/planner/cost/operation_seconds.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace penstock::partition {

// A tile takes 2 · tile² · inner operations at the rate of one multiprocessor, rate / all. Whole
// tiles go round in waves: 133 tiles on 132 multiprocessors take as long as 264. With fewer tiles
// than multiprocessors, floor(all / tiles) of them share each tile, but no slice of the inner index
// is shorter than `slice`.
double product_seconds(const ProductShape& shape, double rate, const DeviceRates& rates) {
  const double tile = rates.tile, all = rates.multiprocessors;
  const double tiles = std::ceil(shape.rows / tile) * std::ceil(shape.cols / tile);
  const double tile_seconds = 2 * tile * tile * shape.inner * all / rate;  // on one multiprocessor
  if (tiles >= all) return std::ceil(tiles / all) * tile_seconds;
  const double slices = std::max(1.0, std::floor(shape.inner / rates.slice));
  return tile_seconds / std::clamp(std::floor(all / std::max(1.0, tiles)), 1.0, slices);
}

// Utterances of a micro-batch start together and end one by one. So steps are summed in runs with
// the same number of utterances: lengths of 5 and 3 frames are 3 steps of two and 2 steps of one. A
// step reads all weights once, however many utterances it computes.
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
