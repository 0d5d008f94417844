#pragma once

#include <algorithm>
#include <vector>

#include "layers/backend.h"
#include "layers/cpu/recurrence/recurrence_forward.h"
#include "layers/cpu/recurrence/recurrence_gates.h"
#include "layers/cpu/recurrence/recurrence_scratch.h"
#include "layers/ops/recurrence.h"

namespace penstock::layers {

/// One direction of a RecurrenceBackwardInput. It takes the steps of ForwardDirection from the last
/// to the first: the gates of a step, and then the product that takes their gradients to the step
/// before.
template <class T, template <class> class Gates>
class BackwardDirection {
 public:
  BackwardDirection(const RecurrenceBackwardInput& op, const BackwardScratch<T>& scratch,
                    std::int64_t direction)
      : op_(op),
        scratch_(scratch),
        direction_(direction),
        hidden_(op.shape.hidden),
        gated_(op.shape.gates() * hidden_),
        first_row_(direction * op.shape.frames()),
        order_(op.shape.lengths, direction == 1) {}

  void run(Stream& stream) {
    const std::int64_t rows =
        kIsGru ? 2 * hidden_ : gated_;  // rows of U whose products have the gradient dp
    const T* const w = op_.w_DGH.template as<T>() + direction_ * gated_ * hidden_;
    const auto factor = PackedFactor<T>::of(w, rows, hidden_, scratch_.weights);
    const auto factor_n =
        PackedFactor<T>::of(w + rows * hidden_, gated_ - rows, hidden_, scratch_.weights_n);
    std::fill_n(scratch_.dh, order_.active(0) * scratch_.stride, T{});
    std::fill_n(scratch_.ds, order_.active(0) * scratch_.stride, T{});
    std::vector<const T*> dp, dn;
    for (std::int64_t step = order_.steps() - 1; step >= 0; --step) {
      if (step % kStepsBetweenProgress == 0) stream.progress();
      dp.clear();
      dn.clear();
      for (std::int64_t rank = 0; rank < order_.active(step); ++rank) {
        const BackwardRow<T> gradients = row(step, rank);
        Gates<T>::backward(gradients, hidden_);
        dp.push_back(gradients.dp);
        dn.push_back(gradients.dn);
      }
      if (step == 0) break;
      factor.multiply(dp, scratch_.dh, scratch_.stride, true);
      if (kIsGru) factor_n.multiply(dn, scratch_.dh, scratch_.stride, true);
    }
  }

 private:
  static constexpr bool kHasCell = Gates<T>::kind == RecurrenceKind::lstm;
  static constexpr bool kIsGru = Gates<T>::kind == RecurrenceKind::gru;

  BackwardRow<T> row(std::int64_t step, std::int64_t rank) const {
    const std::int64_t frame = order_.row(step, rank), kept = first_row_ + frame;
    return {.dy = op_.dy_FH.as<T>() + frame * hidden_,
            .kept = op_.kept.kept_DFK.as<T>() + kept * op_.shape.kept() * hidden_,
            .previous = op_.kept.previous_DFH.as<T>() + kept * hidden_,
            .previous_cell = kHasCell ? op_.kept.cell_DFH.as<T>() + kept * hidden_ : nullptr,
            .dh = scratch_.dh + rank * scratch_.stride,
            .ds = scratch_.ds + rank * scratch_.stride,
            .dp = op_.dp_FP.as<T>() + (frame * op_.shape.directions + direction_) * gated_,
            .dn = kIsGru ? op_.dn_DFH.as<T>() + kept * hidden_ : nullptr};
  }

  const RecurrenceBackwardInput& op_;
  const BackwardScratch<T>& scratch_;
  std::int64_t direction_, hidden_, gated_, first_row_;
  FrameOrder order_;
};

}  // namespace penstock::layers
