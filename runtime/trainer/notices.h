#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::runtime {

/// What ranks tell each other at the end of every step, beside the step's own numbers: how many of
/// them say so. Counts are added without rounding, in any order.
struct Notices {
  static constexpr std::size_t kCount = 4;

  std::int64_t stop = 0;       // was asked to end
  std::int64_t due = 0;        // rank 0: it is time for a checkpoint
  std::int64_t written = 0;    // has written its part of the checkpoint under way
  std::int64_t committed = 0;  // rank 0: that checkpoint is whole, or has failed

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
