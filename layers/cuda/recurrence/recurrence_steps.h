#pragma once

#include <vector>

#include "layers/cuda/core/cuda_stream.h"
#include "layers/cuda/recurrence/recurrence_sizes.h"
#include "layers/cuda/recurrence/recurrence_step.h"
#include "layers/ops/frame_order.h"

namespace penstock::layers::cuda {

/// The frames of a micro-batch, step by step.
class RecurrenceSteps {
 public:
  /// Copies to first_rows_DN the row at which each direction enters each utterance.
  RecurrenceSteps(CudaStream& stream, const RecurrenceShape& shape, const RecurrenceSizes& sizes,
                  std::int64_t* first_rows_DN)
      : order_(shape.lengths, false),
        at_{.first_rows_DN = first_rows_DN,
            .frames = shape.frames(),
            .utterances = sizes.utterances,
            .hidden = shape.hidden,
            .state_width = sizes.state_width,
            .product_width = sizes.product_width,
            .directions = static_cast<int>(shape.directions),
            .gates = static_cast<int>(shape.gates()),
            .kept = static_cast<int>(shape.kept())} {
    const FrameOrder back(shape.lengths, true);
    std::vector<std::int64_t> first_rows(
        static_cast<std::size_t>(shape.directions * sizes.utterances));
    for (std::int64_t d = 0; d < shape.directions; ++d)
      for (std::int64_t rank = 0; rank < order_.active(0); ++rank)
        first_rows[static_cast<std::size_t>(d * sizes.utterances + rank)] =
            (d == 0 ? order_ : back).row(0, rank);
    stream.copy_in(first_rows_DN, first_rows.data(), first_rows.size() * sizeof(std::int64_t));
  }

  std::int64_t count() const { return order_.steps(); }
  RecurrenceStep operator[](std::int64_t step) const {
    RecurrenceStep at = at_;
    at.step = step;
    at.active = order_.active(step);
    return at;
  }

 private:
  FrameOrder order_;
  RecurrenceStep at_;
};

}  // namespace penstock::layers::cuda
