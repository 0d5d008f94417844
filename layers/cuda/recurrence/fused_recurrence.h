#pragma once

#include "layers/cuda/recurrence/recurrence_steps.h"

namespace penstock::layers::cuda {

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
