#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "layers/layer_plan.h"
#include "layers/ops/elementwise.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

inline constexpr std::int64_t kWholeUtterance = std::numeric_limits<std::int32_t>::max();

/// Self-attention within each utterance, in heads of d = C / heads channels (Vaswani et al. 2017).
/// Successive heads of q may share a head of k and v (grouped-query attention, Ainslie et al.
/// 2023). Frame i sees frames j with i - left ≤ j ≤ i + right:
///   s_ij = (q_i · k_j) / √d;  p_i = softmax over j of s_i;  y_i = Σ_j p_ij v_j
///
/// With `key_lengths` it is cross-attention: the frames of an utterance attend to all rows of
/// another sequence, its memory, of which each utterance has as many as they say, 1 or more. Then
/// there are no positions, and no limit of the context.
struct AttentionGeometry {
  std::int64_t heads = 1;
  std::int64_t channels = 0;  // C, over all heads of q
  std::int64_t kv_heads = 0;  // heads of k, and of v, which divide those of q; 0: as many
  std::int64_t left = kWholeUtterance, right = kWholeUtterance;
  /// Rotary positions (Su et al. 2021), which rotate one half of the channels against the other as
  /// in Llama: at frame t, channels c and c + d/2 of q and k are rotated by t · base^(-2c/d). 0:
  /// none.
  double rotary_base = 0;
  std::span<const std::int64_t> lengths;           // frames of each utterance
  std::span<const std::int64_t> key_lengths = {};  // rows of each utterance's memory, if any

  bool cross() const { return !key_lengths.empty(); }
  /// Returns the number of keys of each utterance.
  std::span<const std::int64_t> keys() const { return cross() ? key_lengths : lengths; }
  std::int64_t head_channels() const { return channels / heads; }
  std::int64_t key_heads() const { return kv_heads == 0 ? heads : kv_heads; }
  /// Returns the number of heads of q that share one of k and v.
  std::int64_t group() const { return heads / key_heads(); }
  std::int64_t key_channels() const { return key_heads() * head_channels(); }
  /// Returns the columns P of q, k and v side by side.
  std::int64_t columns() const { return channels + 2 * key_channels(); }
  std::int64_t longest() const;
  std::int64_t most_keys() const;
  /// Returns the number of distances i - j in the longest utterance: 2 · longest - 1.
  std::int64_t distances() const;
};

/// Relative positions of Transformer-XL (Dai et al. 2019):
///   s_ij = ((q_i + u) · k_j + (q_i + v) · r_{i-j}) / √d
/// Row x of r is that of distance i - j = longest - 1 - x. Without data, there are no such
/// positions.
struct RelativePositions {
  Tensor r_XC;
  Tensor u_C, v_C;  // over all heads; f32, or f64 under f64
};

/// Computes attention, and its dropout. A dropped weight p_ij is 0, and the others are divided by 1
/// - probability. For head h, with s = philox_stream(seed, {layer + 2654435769 · h, epoch,
/// utterance's low word, its high word}), weight i, j is dropped if s(j / 4, i)[j % 4] <
/// probability · 2^32.
struct AttentionForward {
  AttentionGeometry geometry;
  Tensor qkv_FP;      // q of all heads, then k, then v; in cross-attention q alone
  Tensor kv_MP = {};  // in cross-attention: k of all heads, then v, of the memory's rows
  RelativePositions relative = {};
  DropoutMask dropout;
  Tensor y_FC;
  Tensor log_sums_HF;  // out: log Σ_j e^s_ij; f32, or f64 under f64. May have no data
  std::span<std::byte> workspace;
};

/// Computes the gradients. Weights p_ij are recomputed from q, k and log_sums:
///   dp_ij = dy_i · v_j;  ds_ij = p_ij (dp_ij - dy_i · y_i);  dv_j = Σ_i p_ij dy_i
struct AttentionBackward {
  AttentionGeometry geometry;
  Tensor qkv_FP;
  Tensor kv_MP = {};
  RelativePositions relative = {};
  DropoutMask dropout;
  Tensor y_FC;
  Tensor log_sums_HF;
  Tensor dy_FC;
  Tensor dqkv_FP;      // without data: only the gradients below are computed
  Tensor dkv_MP = {};  // in cross-attention, with data
  /// Out, f32 or f64 under f64, if there are relative positions.
  Tensor dr_XC = {}, du_C = {}, dv_C = {};
  std::span<std::byte> workspace;
};

/// Returns the workspace of both operations, in bytes. `relative`: there are relative positions.
Workspace attention_workspace(const BackendSizes& sizes, const AttentionGeometry& geometry,
                              bool relative);

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, AttentionForward& op) {
  w.reads(op.qkv_FP, op.kv_MP, op.relative.r_XC);
  w.writes(op.y_FC);
}

template <class Operands>
void operands(Operands& w, AttentionBackward& op) {
  w.reads(op.qkv_FP, op.kv_MP, op.relative.r_XC, op.y_FC, op.dy_FC);
  w.writes(op.dqkv_FP, op.dkv_MP);
}

}  // namespace penstock::layers
