#pragma once

namespace penstock::layers {

template <class... Operation>
struct OperationList {};

/// The operations of which layers, losses and optimizers are made. This is the only list: the
/// virtual functions of Backend, of the backends and of HalfCpuBackend follow from it.
///
/// A backend defines each operation by a specialisation, `template <> void
/// CpuBackend::compute(Stream&, const NAME& op)`. A missing one is an undefined reference at the
/// link; an operation that is not in the list has no Backend::run(). CONTRIBUTING.md lists the
/// files of a new operation.
using Operations = OperationList<
    struct LinearForward, struct LinearBackwardInput, struct LinearBackwardWeight,  // linear.h
    struct Conv2dForward, struct Conv2dBackwardInput, struct Conv2dBackwardWeight,  // conv2d.h
    struct Conv1dForward, struct Conv1dBackwardInput, struct Conv1dBackwardWeight,  // conv1d.h
    struct WeightNormForward, struct WeightNormBackward,                            // weight_norm.h
    struct AddBias, struct BiasBackwardWeight,                                      // bias.h
    struct BatchNormForward, struct BatchNormInference,                             // batch_norm.h
    struct BatchNormBackwardInput, struct BatchNormBackwardWeight,                  //
    struct BatchNormCommit,                                                         //
    struct LayerNormForward, struct LayerNormBackwardInput,
    struct LayerNormBackwardWeight,                                           // layer_norm.h
    struct NonlinearityForward, struct NonlinearityBackward,                  // nonlinearity.h
    struct GateForward, struct GateBackward,                                  // gate.h
    struct AddScaled,                                                         // add_scaled.h
    struct ClippedReluForward, struct ClippedReluBackward,                    // clipped_relu.h
    struct RecurrenceForward, struct RecurrenceBackwardInput,                 // recurrence.h
    struct RecurrenceBackwardWeight,                                          //
    struct AttentionForward, struct AttentionBackward,                        // attention.h
    struct PositionTable,                                                     // position_table.h
    struct ShawPositionsForward, struct ShawPositionsBackwardWeight,          // shaw_positions.h
    struct DepthwiseConv1dForward, struct DepthwiseConv1dBackwardInput,       // depthwise_conv1d.h
    struct DepthwiseConv1dBackwardWeight,                                     //
    struct DropoutForward, struct DropoutBackward,                            // dropout.h
    struct CtcLoss,                                                           // ctc.h
    struct Cast,                                                              // cast.h
    struct SquaredSums, struct LargestMagnitude, struct GradientNorm,         // norms.h
    struct AddInto, struct AdamWStep, struct LambDirection, struct SgdStep>;  // optimizer.h

}  // namespace penstock::layers
