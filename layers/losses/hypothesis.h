#pragma once

#include <cstdint>
#include <vector>

namespace penstock::layers {

/// A text that a decoder found, as labels.
struct Hypothesis {
  std::vector<std::int32_t> labels;
  /// Log-probability by which the search orders its texts, larger for better ones. 0 of greedy
  /// decoding, which compares none.
  double score = 0;

  bool operator==(const Hypothesis&) const = default;
};

}  // namespace penstock::layers
