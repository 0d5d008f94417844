#pragma once

#include "layers/tensor/tensor.h"

namespace penstock::layers {

// These operations replace masked frames by one vector, and set masked channels to 0, as wav2vec
// 2.0 does before its blocks. The masks are in the backend's memory, so a layer copies them in once
// and all its operations read them.

/// Says what is masked: frames one by one, and channels over all frames of an utterance.
struct SpanMask {
  /// The number u of each frame's utterance, i32; -1 - u if the frame is masked.
  Tensor utterances_F;
  /// 1 for each utterance's masked channels, else 0, i32. It has no data if no channel is masked.
  Tensor channels_UC;
};

/// Computes y = 0 in masked channels, the embedding in the other channels of masked frames, and x
/// elsewhere.
struct SpanMaskForward {
  Tensor x_FC;
  Tensor embedding_C;
  Tensor y_FC;
  SpanMask mask;
};

/// Computes dx = 0 in masked channels and masked frames, and dy elsewhere.
struct SpanMaskBackwardInput {
  Tensor dy_FC;
  Tensor dx_FC;
  SpanMask mask;
};

/// Adds the gradient of the embedding: dy of masked frames in channels that are not masked, frame
/// after frame in their order.
struct SpanMaskBackwardWeight {
  Tensor dy_FC;
  Tensor dembedding_C;  // f32, or f64 under f64
  SpanMask mask;
};

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, SpanMaskForward& op) {
  w.reads(op.x_FC, op.embedding_C);
  w.writes(op.y_FC);
}

template <class Operands>
void operands(Operands& w, SpanMaskBackwardInput& op) {
  w.reads(op.dy_FC);
  w.writes(op.dx_FC);
}

template <class Operands>
void operands(Operands& w, SpanMaskBackwardWeight& op) {
  w.reads(op.dy_FC);
}

}  // namespace penstock::layers
