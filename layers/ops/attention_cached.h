#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "layers/key_value_cache.h"
#include "layers/layer_plan.h"
#include "layers/ops/attention.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Causal self-attention of the next rows of each utterance, whose earlier keys and values are
/// cached. geometry.lengths are the new rows of each utterance, of which there may be none;
/// geometry.right is 0. Utterance u has past_u rows already. Its new rows are those at past_u,
/// past_u + 1, …: their keys, rotated for these positions, and their values are first appended to
/// the cache. Then each attends to the cached rows up to itself, as far as geometry.left lets it:
/// the scores, weights and positions are those of AttentionForward over all rows.
///
/// If no utterance has a past, AttentionForward computes y. Otherwise a row's cost is proportional
/// to the rows that it sees, and its bits depend neither on other utterances nor on the number of
/// rows that are computed together. `past` stays; the caller advances it.
///
/// In cross-attention the cache holds the memory's keys and values: geometry.key_lengths are
/// cache.past, nothing is appended, and every new row sees all of them.
struct AttentionCached {
  AttentionGeometry geometry;
  Tensor qkv_FP;        // new rows: q of all heads, then k, then v; in cross-attention q alone
  KeyValueCache cache;  // in and out
  Tensor y_FC;
  std::span<std::byte> workspace;
};

/// Returns the bytes of workspace, which do not depend on the cache. FP32 copies of 16-bit operands
/// on the CPU are those of AttentionForward.
std::size_t attention_cached_workspace(const BackendSizes& sizes,
                                       const AttentionGeometry& geometry);

/// Throws ShapeError if the rows do not fit into the cache, or if the shapes do not agree.
void check_cache(const AttentionCached& op);

/// Returns true if no utterance has a past.
bool begins(const AttentionCached& op);

/// Returns the operation over whole utterances that computes y if none has a past.
AttentionForward whole_attention(const AttentionCached& op);

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h. The cache is no
// such operand, since an FP32 copy of it would cost more than the attention: the CPU reads it as it
// is.

template <class Operands>
void operands(Operands& w, AttentionCached& op) {
  w.reads(op.qkv_FP);
  w.writes(op.y_FC);
}

}  // namespace penstock::layers
