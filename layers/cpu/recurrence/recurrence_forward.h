#pragma once

#include <algorithm>
#include <vector>

#include "layers/backend.h"
#include "layers/cpu/recurrence/recurrence_gates.h"
#include "layers/cpu/recurrence/recurrence_scratch.h"
#include "layers/ops/recurrence.h"

namespace penstock::layers {

/// Steps of a recurrence between two calls of Stream::progress().
inline constexpr std::int64_t kStepsBetweenProgress = 16;

/// One direction of a RecurrenceForward. A step is one product over the states of the utterances
/// that are still active, and then the gates row by row. U is packed once for all steps.
template <class T, template <class> class Gates>
class ForwardDirection {
 public:
  ForwardDirection(const RecurrenceForward& op, const ForwardScratch<T>& scratch,
                   std::int64_t direction)
      : op_(op),
        scratch_(scratch),
        direction_(direction),
        hidden_(op.shape.hidden),
        gated_(op.shape.gates() * hidden_),
        first_row_(direction * op.shape.frames()),
        order_(op.shape.lengths, direction == 1),
        trains_(op.kept.kept_DFK.data != nullptr) {}

  void run(Stream& stream) {
    const auto factor =
        PackedFactor<T>::of_transpose(op_.w_DGH.template as<T>() + direction_ * gated_ * hidden_,
                                      hidden_, gated_, scratch_.weights);
    start();
    std::vector<const T*> states;
    for (std::int64_t step = 0; step < order_.steps(); ++step) {
      if (step % kStepsBetweenProgress == 0) stream.progress();
      const std::int64_t active = order_.active(step);
      states.clear();
      for (std::int64_t rank = 0; rank < active; ++rank) states.push_back(state(step, rank));
      factor.multiply(states, scratch_.u, scratch_.stride, false);
      for (std::int64_t rank = 0; rank < active; ++rank)
        Gates<T>::forward(row(step, rank), hidden_);
    }
  }

 private:
  static constexpr bool kHasCell = Gates<T>::kind == RecurrenceKind::lstm;

  T* state(std::int64_t step, std::int64_t rank) const {
    return place(op_.kept.previous_DFH, scratch_.states, step, rank);
  }
  T* cell(std::int64_t step, std::int64_t rank) const {
    return kHasCell ? place(op_.kept.cell_DFH, scratch_.cells, step, rank) : nullptr;
  }
  /// Returns the state that the frame before leaves for this one. There is a row for each frame in
  /// training, and for each utterance in evaluation.
  T* place(const Tensor& kept_DFH, T* by_rank, std::int64_t step, std::int64_t rank) const {
    if (!trains_) return by_rank + rank * hidden_;
    if (rank >= order_.active(step)) return scratch_.unread;  // after an utterance's end
    return kept_DFH.as<T>() + (first_row_ + order_.row(step, rank)) * hidden_;
  }

  void start() const {
    for (std::int64_t rank = 0; rank < order_.active(0); ++rank) {
      std::fill_n(state(0, rank), hidden_, T{});
      if (kHasCell) std::fill_n(cell(0, rank), hidden_, T{});
    }
  }

  ForwardRow<T> row(std::int64_t step, std::int64_t rank) const {
    const std::int64_t frame = order_.row(step, rank);
    return {.p = op_.p_FP.as<T>() + (frame * op_.shape.directions + direction_) * gated_,
            .u = scratch_.u + rank * scratch_.stride,
            .c = op_.b_DG.as<T>() + direction_ * gated_,
            .previous = state(step, rank),
            .previous_cell = cell(step, rank),
            .kept = trains_ ? op_.kept.kept_DFK.as<T>() +
                                  (first_row_ + frame) * op_.shape.kept() * hidden_
                            : scratch_.unread,
            .next = state(step + 1, rank),
            .next_cell = cell(step + 1, rank),
            .y = op_.y_FH.as<T>() + frame * hidden_,
            .add_to_y = direction_ > 0};
  }

  const RecurrenceForward& op_;
  const ForwardScratch<T>& scratch_;
  std::int64_t direction_, hidden_, gated_, first_row_;
  FrameOrder order_;
  bool trains_;
};

}  // namespace penstock::layers
