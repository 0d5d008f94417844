#pragma once

namespace penstock::layers {

template <class... Operation>
struct OperationList {};

/// The operations that layers, losses and optimizers are made of. They are listed here alone: the
/// virtual functions of Backend, of the backends and of HalfCpuBackend follow from the list.
///
/// To add an operation:
/// 1. layers/ops/: a struct of its arguments, with shapes and formula;
/// 2. this list: `struct NAME`;
/// 3. layers/cpu/: `template <> void CpuBackend::compute(Stream&, const NAME& op)`; where operands
///    may be halves, an overload of operands() in layers/cpu/halves/half_operands.h too;
/// 4. layers/cuda/: `template <> void CudaBackend::compute(Stream& stream, const NAME& op)`;
/// 5. tests/layers/cuda/: a test that compares the two backends. The values of the CPU's are tested
///    with the layer, in tests/layers/nn/, or by a file of tests/layers/cpu/.
///
/// An operation that a backend forgot is an undefined reference at the link.
using Operations = OperationList<
    struct LinearForward, struct LinearBackwardInput, struct LinearBackwardWeight,  // linear.h
    struct Conv2dForward, struct Conv2dBackwardInput, struct Conv2dBackwardWeight,  // conv2d.h
    struct BatchNormForward, struct BatchNormInference,                             // batch_norm.h
    struct BatchNormBackwardInput, struct BatchNormBackwardWeight,                  //
    struct ClippedReluForward, struct ClippedReluBackward,                    // clipped_relu.h
    struct RecurrenceForward, struct RecurrenceBackwardInput,                 // recurrence.h
    struct RecurrenceBackwardWeight,                                          //
    struct LookaheadForward, struct LookaheadBackwardInput,                   // lookahead.h
    struct LookaheadBackwardWeight,                                           //
    struct DropoutForward, struct DropoutBackward,                            // dropout.h
    struct CtcLoss,                                                           // ctc.h
    struct Cast,                                                              // cast.h
    struct SquaredSums, struct LargestMagnitude, struct GradientNorm,         // norms.h
    struct AddInto, struct AdamWStep, struct LambDirection, struct SgdStep>;  // optimizer.h

}  // namespace penstock::layers
