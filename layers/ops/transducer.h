#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "layers/context.h"
#include "layers/layer_plan.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

// The transducer's loss (RNN-T: Graves 2012; TDT: Xu et al. 2023) in parts. An utterance of T
// frames and U labels has T · (U + 1) cells (t, u): u labels are written, and frame t is read next.
// At each cell a joint network gives K logits: V tokens, of which token 0 is the blank, and then D
// durations, with a log-softmax of their own. An RNN-T has D = 0.
//
// No tensor of all cells by K logits exists. Each operation but TransducerLattice works on a tile:
// frames [t0, t0 + n) of one utterance with all their cells C = n · (U + 1), row after row, u
// fastest. What stays of a cell is one row of S = 2 + D numbers: scores, and then occupancies in
// their place.
//
//   forward   for each tile: JointCells, LinearForward, TransducerScores; then TransducerLattice
//   backward  for each tile: JointCells, LinearForward, TransducerLogitGradient,
//             LinearBackwardInput, LinearBackwardWeight, JointCellsBackward

/// The joint network's nonlinearity.
enum class JointNonlinearity { relu, tanh };

/// Computes hidden[(t, u)] = f(encoded[t] + predicted[u]) for the cells of a tile.
struct JointCells {
  JointNonlinearity kind = JointNonlinearity::relu;
  Tensor encoded_TJ;    // the tile's n frames
  Tensor predicted_UJ;  // U + 1 rows
  Tensor hidden_CJ;     // out
};

/// Computes the gradients of both sums of a tile, with g = dhidden · f'(·), where f' follows from
/// hidden: dencoded[t] = Σ g[(t, u)] over u, and dpredicted[u] += Σ g[(t, u)] over t, frame after
/// frame. So tiles of any size add the same numbers in the same order, from the first frame on.
struct JointCellsBackward {
  JointNonlinearity kind = JointNonlinearity::relu;
  Tensor hidden_CJ;
  Tensor dhidden_CJ;
  Tensor dencoded_TJ;    // out
  Tensor dpredicted_UJ;  // added to; f32, or f64 under f64
};

/// Computes the scores of a tile's cells, S = 2 + D numbers each:
///   scores[0]      log p(blank) - sigma
///   scores[1]      log p(label u) - sigma, or -inf at u = U, where no label is left
///   scores[2 + i]  log q(duration i)
/// p is the softmax of the first V logits and q that of the last D. `sigma` is TDT's
/// under-normalisation. Logits may be of 16 bits, and are computed in FP32.
struct TransducerScores {
  Tensor logits_CK;
  Tensor labels_U;          // i32, in the backend's memory
  std::int64_t tokens = 0;  // V
  double sigma = 0;
  Tensor scores_CS;  // out: f32, or f64 under f64
};

/// The most durations that a transducer may have.
inline constexpr int kMaxDurations = 16;

/// Computes the loss -log P(labels) of each utterance: the sum over all paths from cell (0, 0) to
/// the end. An arc of duration d leads from (t, u)
///   by a blank  to (t + d, u); d > 0, and to t + d = T, which is the end, only where u = U
///   by a label  to (t + d, u + 1), where t + d < T
/// Its log-probability is the token's score plus the duration's. An RNN-T has no durations: a blank
/// takes one frame, and a label none. Sums of logarithms are FP64, whatever the scores' dtype.
///
/// With `train`, each row of scores is overwritten by the cell's occupancies, times scale · weight
/// of the utterance: the share of P(labels) that passes
///   [0] the cell's blank arcs, [1] its label arcs, [2 + i] its arcs of duration i
/// An utterance without any path, such as one without frames, has loss 0, and occupancies of 0.
///
/// ShapeErrors: numbers of utterances, rows or scores that do not fit each other, more than
/// kMaxDurations durations, and durations that do not ascend from 0 or more to 1 or more.
struct TransducerLattice {
  Tensor scores_CS;  // of all utterances, one after the other; f32 or f64
  std::span<const std::int64_t> lengths;
  const Targets& targets;                        // out: losses[u] = weights[u] · loss
  std::span<const std::int32_t> durations = {};  // in frames; none for an RNN-T
  bool train = false;
  std::span<std::byte> workspace;  // transducer_lattice_workspace() bytes
};

/// Returns the workspace, in bytes, of utterances with so many frames and labels. It does not
/// shrink if any of these numbers grows, so a plan may give the most labels that it allows.
std::size_t transducer_lattice_workspace(DeviceKind device, std::span<const std::int64_t> lengths,
                                         std::span<const std::int32_t> labels);

/// Computes a tile's gradient of the logits from the cells' occupancies o, with all = o[0] + o[1]:
///   dlogits[k]      all · p(k) - (k = blank) · o[0] - (k = label u) · o[1]
///   dlogits[V + i]  all · q(i) - o[2 + i]
struct TransducerLogitGradient {
  Tensor logits_CK;
  Tensor labels_U;          // i32, in the backend's memory
  std::int64_t tokens = 0;  // V
  Tensor occupancies_CS;    // f32, or f64 under f64
  Tensor dlogits_CK;        // out; may be logits_CK
};

/// The pairs of arcs that leave each cell: pair i is a blank of blank[i] frames, or none where that
/// is 0, and a label of label[i] frames.
struct TransducerArcs {
  int pairs = 0;
  bool timed = false;  // score 2 + i belongs to pair i
  std::int32_t blank[kMaxDurations], label[kMaxDurations];
};

/// ShapeError for more than kMaxDurations durations, and for durations that do not ascend from 0 or
/// more to 1 or more.
void expect_transducer_durations(std::span<const std::int32_t> durations);

/// Checks that a lattice's arguments fit each other, and returns its arcs. Raises the ShapeErrors
/// of TransducerLattice. Every backend calls it first.
[[nodiscard]] TransducerArcs arcs_of(const TransducerLattice& op);

/// Raises ShapeErrors for labels that are not tokens 1 … V - 1, and for numbers of utterances that
/// differ. Kernels index by labels without a check: a layer calls it before its first tile.
void expect_transducer_targets(const Targets& targets, std::span<const std::int64_t> lengths,
                               std::int64_t tokens);

/// Returns the cells of all utterances together: Σ T · (U + 1).
std::int64_t transducer_cells(std::span<const std::int64_t> lengths,
                              std::span<const std::int32_t> labels);

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, JointCells& op) {
  w.reads(op.encoded_TJ, op.predicted_UJ);
  w.writes(op.hidden_CJ);
}

template <class Operands>
void operands(Operands& w, JointCellsBackward& op) {
  w.reads(op.hidden_CJ, op.dhidden_CJ);
  w.writes(op.dencoded_TJ);
}

template <class Operands>
void operands(Operands& w, TransducerScores& op) {
  w.reads(op.logits_CK);
}

template <class Operands>
void operands(Operands& w, TransducerLogitGradient& op) {
  w.reads(op.logits_CK);
  w.writes(op.dlogits_CK);
}

}  // namespace penstock::layers
