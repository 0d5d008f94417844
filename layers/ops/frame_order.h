#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::layers {

/// The order in which a recurrence visits frames. Step t takes the t-th frame of every utterance
/// that has one, longest utterance first. So the utterances of a step are the first ones of the
/// step before. "t-th" counts from an utterance's first frame or, backwards, from its last.
class FrameOrder {
 public:
  /// Orders utterances that lie one after the other in the rows of a matrix.
  FrameOrder(std::span<const std::int64_t> lengths, bool backwards);

  std::int64_t steps() const { return lengths_.empty() ? 0 : lengths_.front(); }
  /// Returns the number of utterances that have a t-th frame: ranks 0 … active(t) - 1. It falls as
  /// t grows.
  std::int64_t active(std::int64_t step) const;
  /// Returns the row of the step-th frame of the utterance with that rank.
  std::int64_t row(std::int64_t step, std::int64_t rank) const {
    return first_rows_[rank] + (backwards_ ? -step : step);
  }

 private:
  bool backwards_;
  std::vector<std::int64_t> lengths_;     // by rank, falling
  std::vector<std::int64_t> first_rows_;  // row of step 0, by rank
};

}  // namespace penstock::layers
