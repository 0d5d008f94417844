#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace penstock::tools {

/// Settings of successive halving.
struct HalvingOptions {
  std::int64_t factor = 0;     // of the runs, one in so many goes on; 0: all train to the end
  std::int64_t min_steps = 1;  // of the shortest rung
};

/// Returns the steps at which runs are compared, ascending; the last is `steps`, the whole
/// training. Without halving it is the only one. See halving.cpp.
[[nodiscard]] std::vector<std::int64_t> rung_steps(const HalvingOptions& halving,
                                                   std::int64_t steps, std::int64_t runs);

/// Returns which runs go on: one in `factor`, rounded down, but at least one, of those with the
/// lowest metrics; of equal ones the first. A run without a metric never goes on. The indexes
/// ascend.
[[nodiscard]] std::vector<std::size_t> survivors(std::span<const std::optional<double>> metrics,
                                                 std::int64_t factor);

}  // namespace penstock::tools
