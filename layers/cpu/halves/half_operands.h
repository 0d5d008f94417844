#pragma once

#include "layers/cpu/halves/widening.h"
#include "layers/ops/add_scaled.h"
#include "layers/ops/attention.h"
#include "layers/ops/batch_norm.h"
#include "layers/ops/bias.h"
#include "layers/ops/clipped_relu.h"
#include "layers/ops/conv1d.h"
#include "layers/ops/conv2d.h"
#include "layers/ops/ctc.h"
#include "layers/ops/depthwise_conv1d.h"
#include "layers/ops/dropout.h"
#include "layers/ops/gate.h"
#include "layers/ops/layer_norm.h"
#include "layers/ops/linear.h"
#include "layers/ops/nonlinearity.h"
#include "layers/ops/position_table.h"
#include "layers/ops/recurrence.h"
#include "layers/ops/shaw_positions.h"
#include "layers/ops/weight_norm.h"

namespace penstock::layers {

// Lists the operands of each operation that may be f16 or bf16: those that it reads, and those that
// it writes. Sums of weight gradients and statistics never are.

inline void operands(Widening& w, LinearForward& op) {
  w.reads(op.x_FI, op.w_OI, op.b_O);
  w.writes(op.y_FO);
}
inline void operands(Widening& w, LinearBackwardInput& op) {
  w.reads(op.dy_FO, op.w_OI);
  w.writes(op.dx_FI);
}
inline void operands(Widening& w, LinearBackwardWeight& op) { w.reads(op.x_FI, op.dy_FO); }

inline void operands(Widening& w, Conv2dForward& op) {
  w.reads(op.x_FC, op.weight, op.bias_O);
  w.writes(op.y_FC);
}
inline void operands(Widening& w, Conv2dBackwardInput& op) {
  w.reads(op.dy_FC, op.weight);
  w.writes(op.dx_FC);
}
inline void operands(Widening& w, Conv2dBackwardWeight& op) { w.reads(op.x_FC, op.dy_FC); }

inline void operands(Widening& w, Conv1dForward& op) {
  w.reads(op.x_FC, op.weight_OCK, op.bias_O);
  w.writes(op.y_FO);
}
inline void operands(Widening& w, Conv1dBackwardInput& op) {
  w.reads(op.dy_FO, op.weight_OCK);
  w.writes(op.dx_FC);
}
inline void operands(Widening& w, Conv1dBackwardWeight& op) { w.reads(op.x_FC, op.dy_FO); }

inline void operands(Widening& w, WeightNormForward& op) {
  w.reads(op.v_OCK);
  w.writes(op.w_OCK);
}
inline void operands(Widening& w, WeightNormBackward& op) { w.reads(op.v_OCK); }

inline void operands(Widening& w, AddBias& op) {
  w.reads(op.x, op.bias_C);
  w.writes(op.y);
}
inline void operands(Widening& w, BiasBackwardWeight& op) { w.reads(op.dy); }

inline void operands(Widening& w, BatchNormForward& op) {
  w.reads(op.x);
  w.writes(op.y);
}
inline void operands(Widening& w, BatchNormInference& op) {
  w.reads(op.x);
  w.writes(op.y);
}
inline void operands(Widening& w, BatchNormBackwardInput& op) {
  w.reads(op.x, op.dy);
  w.writes(op.dx);
}

inline void operands(Widening& w, LayerNormForward& op) {
  w.reads(op.x_FC);
  w.writes(op.y_FC);
}
inline void operands(Widening& w, LayerNormBackwardInput& op) {
  w.reads(op.x_FC, op.dy_FC);
  w.writes(op.dx_FC);
}

inline void operands(Widening& w, NonlinearityForward& op) {
  w.reads(op.x);
  w.writes(op.y);
}
inline void operands(Widening& w, NonlinearityBackward& op) {
  w.reads(op.x, op.dy);
  w.writes(op.dx);
}

inline void operands(Widening& w, GateForward& op) {
  w.reads(op.x_FD);
  w.writes(op.y_FC);
}
inline void operands(Widening& w, GateBackward& op) {
  w.reads(op.x_FD, op.dy_FC);
  w.writes(op.dx_FD);
}

inline void operands(Widening& w, AddScaled& op) {
  w.reads(op.x, op.f);
  w.writes(op.y);
}

inline void operands(Widening& w, RecurrenceForward& op) {
  w.reads(op.p_FP, op.w_DGH, op.b_DG);
  w.writes(op.y_FH, op.kept.kept_DFK, op.kept.previous_DFH, op.kept.cell_DFH);
}
inline void operands(Widening& w, RecurrenceBackwardInput& op) {
  w.reads(op.dy_FH, op.w_DGH, op.kept.kept_DFK, op.kept.previous_DFH, op.kept.cell_DFH);
  w.writes(op.dp_FP, op.dn_DFH);
}
inline void operands(Widening& w, RecurrenceBackwardWeight& op) {
  w.reads(op.previous_DFH, op.dp_FP, op.dn_DFH);
}

inline void operands(Widening& w, ClippedReluForward& op) {
  w.reads(op.x);
  w.writes(op.y);
}
inline void operands(Widening& w, ClippedReluBackward& op) {
  w.reads(op.y, op.dy);
  w.writes(op.dx);
}

inline void operands(Widening& w, AttentionForward& op) {
  w.reads(op.qkv_FP, op.relative.r_XC);
  w.writes(op.y_FC);
}
inline void operands(Widening& w, AttentionBackward& op) {
  w.reads(op.qkv_FP, op.relative.r_XC, op.y_FC, op.dy_FC);
  w.writes(op.dqkv_FP);
}

inline void operands(Widening& w, PositionTable& op) { w.writes(op.table_XC); }

inline void operands(Widening& w, ShawPositionsForward& op) {
  w.reads(op.weight_KD);
  w.writes(op.r_XC);
}

inline void operands(Widening& w, DepthwiseConv1dForward& op) {
  w.reads(op.x_FD, op.weight_CK, op.bias_C);
  w.writes(op.y_FC);
}
inline void operands(Widening& w, DepthwiseConv1dBackwardInput& op) {
  w.reads(op.x_FD, op.dy_FC, op.weight_CK);
  w.writes(op.dx_FD);
}
inline void operands(Widening& w, DepthwiseConv1dBackwardWeight& op) { w.reads(op.x_FD, op.dy_FC); }

inline void operands(Widening& w, DropoutForward& op) {
  w.reads(op.x_FC);
  w.writes(op.y_FC);
}
inline void operands(Widening& w, DropoutBackward& op) {
  w.reads(op.dy_FC);
  w.writes(op.dx_FC);
}

inline void operands(Widening& w, CtcLoss& op) { w.reads(op.logits_FC); }

/// An operation with operands() above.
template <class Operation>
concept TakesHalves = requires(Widening& w, Operation& op) {
  operands(w, op);
};

}  // namespace penstock::layers
