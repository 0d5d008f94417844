#pragma once

#include <cstdint>
#include <span>

#include "layers/context.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

// These operations compute one number at a time, or one of each half of a row.

/// Computes y = x + scale · f, of equal shapes; y may be x or f. If x has no data, y = scale · f.
/// With `factors`, rows are frames, and `scale` is multiplied by the factor of a frame's utterance;
/// f is not read where that factor is 0. If y is 16-bit, x may be f32.
struct AddScaled {
  Tensor x;
  Tensor f;
  Tensor y;
  double scale = 1;
  std::span<const double> factors = {};        // in host memory, one per utterance, or none
  std::span<const std::int64_t> lengths = {};  // frames of each utterance, needed with factors
};

/// Converts `from` to `to`, rounded to nearest (ties to even) if `to` is narrower; between equal
/// dtypes it is a plain copy. Both have equally many elements and do not overlap; f32, f64, f16,
/// bf16.
struct Cast {
  Tensor from;
  Tensor to;
};

/// Computes y = min(max(x, 0), bound). Shapes are equal, and arbitrary.
struct ClippedReluForward {
  Tensor x;
  Tensor y;
  double bound = 20;
};

/// Computes dx = dy where 0 < y < bound, else 0. The gradient at both kinks is 0, as in PyTorch's
/// hardtanh.
struct ClippedReluBackward {
  Tensor y;
  Tensor dy;
  Tensor dx;
  double bound = 20;
};

/// Smooth functions of one number, as in torch.nn.functional. Φ is the standard normal distribution
/// function, and σ(x) = 1 / (1 + e^-x):
///   gelu       x · Φ(x) (Hendrycks & Gimpel 2016)
///   gelu_tanh  x · (1 + tanh(√(2/π) · (x + 0.044715 x³))) / 2
///   silu       x · σ(x), also called swish
enum class NonlinearityKind { gelu, gelu_tanh, silu };

/// Computes y = f(x). Shapes are equal, and arbitrary.
struct NonlinearityForward {
  NonlinearityKind kind = NonlinearityKind::silu;
  Tensor x;
  Tensor y;
};

/// Computes dx = dy · f'(x).
struct NonlinearityBackward {
  NonlinearityKind kind = NonlinearityKind::silu;
  Tensor x;
  Tensor dy;
  Tensor dx;
};

/// Kind of a gated linear unit. In a row of D = 2 · C numbers, the first C are a and the last C are
/// b:
///   glu     y = a · σ(b) (Dauphin et al. 2017), torch.nn.functional.glu
///   swiglu  y = silu(a) · b (Shazeer 2020)
enum class GateKind { glu, swiglu };

struct GateForward {
  GateKind kind = GateKind::glu;
  Tensor x_FD;
  Tensor y_FC;
};

/// Computes both halves of dx from dy and the halves of x.
struct GateBackward {
  GateKind kind = GateKind::glu;
  Tensor x_FD;
  Tensor dy_FC;
  Tensor dx_FD;
};

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

/// Computes dx = dropped ? 0 : dy / (1 - probability); dx may be dy.
struct DropoutBackward {
  Tensor dy_FC;
  Tensor dx_FC;
  DropoutMask mask;
};

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, AddScaled& op) {
  w.reads(op.x, op.f);
  w.writes(op.y);
}

template <class Operands>
void operands(Operands& w, ClippedReluForward& op) {
  w.reads(op.x);
  w.writes(op.y);
}

template <class Operands>
void operands(Operands& w, ClippedReluBackward& op) {
  w.reads(op.y, op.dy);
  w.writes(op.dx);
}

template <class Operands>
void operands(Operands& w, NonlinearityForward& op) {
  w.reads(op.x);
  w.writes(op.y);
}

template <class Operands>
void operands(Operands& w, NonlinearityBackward& op) {
  w.reads(op.x, op.dy);
  w.writes(op.dx);
}

template <class Operands>
void operands(Operands& w, GateForward& op) {
  w.reads(op.x_FD);
  w.writes(op.y_FC);
}

template <class Operands>
void operands(Operands& w, GateBackward& op) {
  w.reads(op.x_FD, op.dy_FC);
  w.writes(op.dx_FD);
}

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
