#pragma once

#include "layers/cuda/recurrence_steps.h"

namespace penstock::layers::cuda {

// A time step as one kernel. Each block multiplies all rows of 16 channels of one direction by what
// the step before left of every channel, and then computes these channels' gates. What all blocks
// read, none of them writes: states and gradients have two buffers, in turn.

/// All of a recurrence's time steps; `io` lacks the step and its buffers. `products` is of FP32.
template <class T>
void fused_forward(CudaStream& stream, const RecurrenceForward& op, const RecurrenceSteps& steps,
                   const RecurrenceForwardRoom& room, const ForwardStep<T>& io,
                   Fp32Products products);
template <class T>
void fused_backward(CudaStream& stream, const RecurrenceBackwardInput& op,
                    const RecurrenceSteps& steps, const RecurrenceBackwardRoom& room,
                    const BackwardStep<T>& io, Fp32Products products);

}  // namespace penstock::layers::cuda
