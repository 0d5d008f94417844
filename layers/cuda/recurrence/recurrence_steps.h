#pragma once

#include <vector>

#include "layers/cuda/core/cuda_stream.h"
#include "layers/cuda/recurrence/recurrence_sizes.h"
#include "layers/cuda/recurrence/recurrence_step.h"
#include "layers/ops/recurrence.h"

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

// Runs each time step of a recurrence as one kernel. A block owns 16 channels of one direction. It
// multiplies their rows of U by the state of every channel after the step before, and then computes
// their gates. No block writes what blocks of the same step read: states and gradients have two
// buffers, which alternate. So a launch is the only barrier.

/// Enqueues all time steps of a recurrence. The step and its buffers in `io` are filled in here.
/// `products` says how FP32 is multiplied.
template <class T>
void fused_forward(CudaStream& stream, const RecurrenceForward& op, const RecurrenceSteps& steps,
                   const RecurrenceForwardWorkspace& room, const ForwardStep<T>& io,
                   Fp32Products products);
template <class T>
void fused_backward(CudaStream& stream, const RecurrenceBackwardInput& op,
                    const RecurrenceSteps& steps, const RecurrenceBackwardWorkspace& room,
                    const BackwardStep<T>& io, Fp32Products products);

}  // namespace penstock::layers::cuda
