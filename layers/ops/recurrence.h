#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layers/layer_plan.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Kind of a recurrence. p is the projected input (W x + b of PyTorch's weight_ih, bias_ih), and U,
/// c are weight and bias of the recurrence (weight_hh, bias_hh). h, s are the states of the frame
/// before, both 0 at first:
///   tanh  h' = tanh(p + U h + c)
///   gru   r, z = σ(p + U h + c);  n = tanh(p_n + r ∘ (U_n h + c_n));  h' = (1 − z) ∘ n + z ∘ h
///   lstm  i, f, o = σ(p + U h + c);  g = tanh(p_g + U_g h + c_g);  s' = f ∘ s + i ∘ g;
///         h' = o ∘ tanh(s')
/// Gates lie in the rows of U and the columns of p in the order r z n, and i f g o.
enum class RecurrenceKind { tanh, gru, lstm };

/// Direction 0 goes from an utterance's first frame to its last, direction 1 back.
struct RecurrenceShape {
  RecurrenceKind kind = RecurrenceKind::gru;
  std::int64_t directions = 1;  // or 2, whose outputs are added
  std::int64_t hidden = 0;
  std::span<const std::int64_t> lengths;  // frames of each utterance, none 0

  std::int64_t frames() const;
  /// Returns 1, 3 or 4.
  std::int64_t gates() const;
  /// Returns the numbers that forward keeps in `kept` for a frame and direction, in units of
  /// `hidden`.
  std::int64_t kept() const;
};

/// Returns the workspace of the three operations, in bytes.
Workspace recurrence_workspace(const BackendSizes& sizes, const RecurrenceShape& shape);

/// Tensors that forward leaves for the backward operations; null in evaluation. In suffixes of
/// shapes D is directions, F frames, H hidden, G gates · hidden, P = D · G and K kept() · hidden.
struct RecurrenceKept {
  Tensor kept_DFK;      // tanh h';  gru r z n and U_n h + c_n;  lstm i f g o
  Tensor previous_DFH;  // h
  Tensor cell_DFH;      // s; lstm only
};

/// Computes y_FH, the sum of h' over directions.
struct RecurrenceForward {
  RecurrenceShape shape;
  Tensor p_FP, w_DGH, b_DG, y_FH;
  RecurrenceKept kept;
  std::span<std::byte> workspace;
};

/// Computes dp_FP from dy_FH, and for a gru also the gradient of U_n h + c_n.
struct RecurrenceBackwardInput {
  RecurrenceShape shape;
  Tensor dy_FH, w_DGH;
  RecurrenceKept kept;
  Tensor dp_FP, dn_DFH;
  std::span<std::byte> workspace;
};

/// Adds to dw_DGH and db_DG the gradients that follow from dp_FP and, for a gru, dn_DFH.
struct RecurrenceBackwardWeight {
  RecurrenceShape shape;
  Tensor previous_DFH, dp_FP, dn_DFH, dw_DGH, db_DG;
};

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, RecurrenceForward& op) {
  w.reads(op.p_FP, op.w_DGH, op.b_DG);
  w.writes(op.y_FH, op.kept.kept_DFK, op.kept.previous_DFH, op.kept.cell_DFH);
}

template <class Operands>
void operands(Operands& w, RecurrenceBackwardInput& op) {
  w.reads(op.dy_FH, op.w_DGH, op.kept.kept_DFK, op.kept.previous_DFH, op.kept.cell_DFH);
  w.writes(op.dp_FP, op.dn_DFH);
}

template <class Operands>
void operands(Operands& w, RecurrenceBackwardWeight& op) {
  w.reads(op.previous_DFH, op.dp_FP, op.dn_DFH);
}

/// The order in which a recurrence visits frames. Step t takes the t-th frame of every utterance
/// that has one, longest utterance first. So the utterances of a step are the first ones of the
/// step before. "t-th" counts from an utterance's first frame or, backwards, from its last.
class FrameOrder {
 public:
  /// Orders utterances that lie one after the other in the rows of a matrix.
  FrameOrder(std::span<const std::int64_t> lengths, bool backwards);

  std::int64_t steps() const { return lengths_.empty() ? 0 : lengths_.front(); }
  /// Returns the number of utterances that have a t-th frame: ranks 0 … active(t) - 1. It falls as
  /// t grows.
  std::int64_t active(std::int64_t step) const;
  /// Returns the row of the step-th frame of the utterance with that rank.
  std::int64_t row(std::int64_t step, std::int64_t rank) const {
    return first_rows_[rank] + (backwards_ ? -step : step);
  }

 private:
  bool backwards_;
  std::vector<std::int64_t> lengths_;     // by rank, falling
  std::vector<std::int64_t> first_rows_;  // row of step 0, by rank
};

}  // namespace penstock::layers
