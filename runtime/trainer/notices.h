#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::runtime {

/// Notices that ranks exchange at the end of every step, together with the step's numbers. Each
/// field counts the ranks that raise it. Sums of counts are exact, in any order.
struct Notices {
  static constexpr std::size_t kCount = 4;

  std::int64_t stop = 0;       // the rank was asked to stop
  std::int64_t due = 0;        // rank 0: a checkpoint is due
  std::int64_t written = 0;    // the rank has written its shard of the current save
  std::int64_t committed = 0;  // rank 0: that save is complete or has failed

  void put(std::span<double> counts) const {
    counts[0] = static_cast<double>(stop);
    counts[1] = static_cast<double>(due);
    counts[2] = static_cast<double>(written);
    counts[3] = static_cast<double>(committed);
  }
  static Notices of(std::span<const double> counts) {
    return {static_cast<std::int64_t>(counts[0]), static_cast<std::int64_t>(counts[1]),
            static_cast<std::int64_t>(counts[2]), static_cast<std::int64_t>(counts[3])};
  }
};

}  // namespace penstock::runtime
