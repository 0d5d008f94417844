#pragma once

#include <cstdint>

#include "layers/tensor/tensor.h"

namespace penstock::layers {

// These operations make positions of frames, which attention adds to its input or to its scores.

enum class SinusoidOrder {
  pairs,   // a sine and its cosine are neighbours (Vaswani et al. 2017)
  halves,  // all sines come before all cosines, as in tensor2tensor and Whisper
  apart,   // the sinusoids of pairs, all sines before all cosines, as transformers has Canary's
};

/// Computes sinusoids of positions. Row x is that of position p = first + x · step. In pairs:
///   table[x][2c] = sin(p · 10000^(-2c/C)); table[x][2c + 1] = cos(p · 10000^(-2c/C))
/// In halves of H = C/2 channels, of which there must be at least two:
///   table[x][c] = sin(p · 10000^(-c/(H - 1))); table[x][H + c] = cos(p · 10000^(-c/(H - 1)))
/// Apart, the channels are those of halves, and the angles those of pairs; C is even.
/// With first 0 and step 1, rows are frames of an utterance. With first n - 1 and step -1, 2n - 1
/// rows are the distances of Transformer-XL. Angles are FP64, whatever the dtype of the table.
struct PositionTable {
  Tensor table_XC;  // out; f32, f64 or a 16-bit dtype
  std::int64_t first = 0;
  std::int64_t step = 1;  // 1 or -1
  SinusoidOrder order = SinusoidOrder::pairs;
};

/// The exponent of 10000 and the channels of a pair of sinusoids, of `channels` in a row.
struct SinusoidPair {
  double exponent;
  std::int64_t sine, cosine;
};

constexpr SinusoidPair sinusoid_pair(std::int64_t pair, std::int64_t channels,
                                     SinusoidOrder order) {
  if (order == SinusoidOrder::pairs)
    return {-static_cast<double>(2 * pair) / static_cast<double>(channels), 2 * pair, 2 * pair + 1};
  const std::int64_t half = channels / 2;
  if (order == SinusoidOrder::apart)
    return {-static_cast<double>(2 * pair) / static_cast<double>(channels), pair, half + pair};
  return {-static_cast<double>(pair) / static_cast<double>(half - 1), pair, half + pair};
}

// Relative positions of Shaw et al. (2018): every clipped distance j - i between a query i and a
// key j has a learned vector a_{j-i}, which all heads share, and s_ij = q_i · (k_j + a_{j-i}) / √d.
// With such vectors as the rows r_{i-j} of RelativePositions (layers/ops/attention.h), and biases
// of 0, attention computes the same.

/// Expands the vectors to rows r. With n = (X + 1) / 2 and D channels per head:
///   r[x][h · D + c] = weight[clamp(x - (n - 1), -left, K - 1 - left) + left][c]
struct ShawPositionsForward {
  Tensor weight_KD;       // one row for each distance, from -left on
  std::int64_t left = 0;  // number of distances to earlier keys that have a vector
  Tensor r_XC;            // out; X = 2n - 1 rows
};

/// Adds the gradient of the weight: d_weight[k][c] += Σ dr[x][h · D + c] over all heads h and the
/// rows x of that distance.
struct ShawPositionsBackwardWeight {
  Tensor dr_XC;  // f32, or f64 under f64
  std::int64_t left = 0;
  Tensor d_weight_KD;  // dtype of dr_XC
};

/// Rows [begin, end) of r that have the same clipped distance.
struct ShawRows {
  std::int64_t begin, end;
};

/// Returns the rows of distance k - left, for 0 ≤ k < K. Empty if no pair of frames has that
/// distance.
inline ShawRows shaw_rows(std::int64_t k, std::int64_t K, std::int64_t left, std::int64_t X) {
  const auto within = [&](std::int64_t x) { return x < 0 ? 0 : x < X ? x : X; };
  const std::int64_t x = (X - 1) / 2 + k - left;  // row of exactly that distance
  return {k == 0 ? 0 : within(x), k == K - 1 ? X : within(x + 1)};
}

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, PositionTable& op) {
  w.writes(op.table_XC);
}

template <class Operands>
void operands(Operands& w, ShawPositionsForward& op) {
  w.reads(op.weight_KD);
  w.writes(op.r_XC);
}

}  // namespace penstock::layers
