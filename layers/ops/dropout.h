#pragma once

#include <cstdint>
#include <span>

#include "layers/context.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Chooses the elements that dropout drops. The mask is a pure function of (seed, epoch, utterance,
/// layer, frame within the utterance, channel). So it is the same for any packing of utterances,
/// and in forward and backward. With s = philox_stream(seed, {layer, epoch, utterance's low word,
/// its high word}), channel c of frame t is dropped if s(c / 4, t)[c % 4] < probability · 2^32.
struct DropoutMask {
  RandomKey random;
  std::uint32_t layer = 0;                // hash_of_name of the layer
  std::span<const std::int64_t> lengths;  // frames of each utterance
  double probability = 0;                 // probability of a drop, in [0, 1)
};

/// Computes y = dropped ? 0 : x / (1 - probability).
struct DropoutForward {
  Tensor x_FC;
  Tensor y_FC;
  DropoutMask mask;
};

/// Computes dx = dropped ? 0 : dy / (1 - probability).
struct DropoutBackward {
  Tensor dy_FC;
  Tensor dx_FC;
  DropoutMask mask;
};

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, DropoutForward& op) {
  w.reads(op.x_FC);
  w.writes(op.y_FC);
}

template <class Operands>
void operands(Operands& w, DropoutBackward& op) {
  w.reads(op.dy_FC);
  w.writes(op.dx_FC);
}

}  // namespace penstock::layers
