#pragma once

#include "layers/ops/attention.h"
#include "layers/ops/attention_cached.h"
#include "layers/ops/batch_norm.h"
#include "layers/ops/columns.h"
#include "layers/ops/conv1d.h"
#include "layers/ops/conv2d.h"
#include "layers/ops/cross_entropy.h"
#include "layers/ops/ctc.h"
#include "layers/ops/elementwise.h"
#include "layers/ops/embedding.h"
#include "layers/ops/layer_norm.h"
#include "layers/ops/linear.h"
#include "layers/ops/norms.h"
#include "layers/ops/operation_table.h"
#include "layers/ops/optimizer.h"
#include "layers/ops/positions.h"
#include "layers/ops/recurrence.h"
#include "layers/ops/softmax.h"
#include "layers/ops/span_mask.h"
#include "layers/ops/transducer.h"
#include "layers/ops/weight_norm.h"

namespace penstock::layers {

template <class... Operation>
struct OperationList {};

/// The operations of which layers, losses and optimizers are made. This is the only list: the table
/// of each backend follows from it, and only the backends include it.
///
/// A backend defines each operation by a specialisation, `template <> void
/// CpuBackend::compute(Stream&, const NAME& op)`. A missing one is an undefined reference at the
/// link. CONTRIBUTING.md lists the files of a new operation.
using Operations = OperationList<
    LinearForward, LinearBackwardInput, LinearBackwardWeight, Conv2dForward, Conv2dBackwardInput,
    Conv2dBackwardWeight, Conv1dForward, Conv1dBackwardInput, Conv1dBackwardWeight,
    WeightNormForward, WeightNormBackward, AddBias, BiasBackwardWeight, BatchNormForward,
    BatchNormInference, BatchNormBackwardInput, BatchNormBackwardWeight, BatchNormCommit,
    LayerNormForward, LayerNormBackwardInput, LayerNormBackwardWeight, NonlinearityForward,
    NonlinearityBackward, GateForward, GateBackward, AddScaled, ClippedReluForward,
    ClippedReluBackward, RecurrenceForward, RecurrenceBackwardInput, RecurrenceBackwardWeight,
    AttentionForward, AttentionBackward, AttentionCached, PositionTable, ShawPositionsForward,
    ShawPositionsBackwardWeight, DepthwiseConv1dForward, DepthwiseConv1dBackwardInput,
    DepthwiseConv1dBackwardWeight, DropoutForward, DropoutBackward, EmbeddingForward,
    EmbeddingBackwardWeight, SpanMaskForward, SpanMaskBackwardInput, SpanMaskBackwardWeight,
    JointCells, JointCellsBackward, TransducerScores, TransducerLattice, TransducerLogitGradient,
    CtcLoss, SoftmaxForward, SoftmaxBackward, CrossEntropyLosses, CrossEntropySums,
    CrossEntropyGradient, Cast, CastColumns, SquaredSums, LargestMagnitude, GradientNorm, AddInto,
    AdamWStep, LambDirection, SgdStep, MoveAverages>;

/// Enters all operations as functions of `Self` into the table of a backend.
template <class Self, class... Operation>
void set_operations(OperationTable& table, OperationList<Operation...>) {
  (table.template set<Self, Operation>(), ...);
}

}  // namespace penstock::layers
