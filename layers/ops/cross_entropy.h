#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "layers/context.h"
#include "layers/layer_plan.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

// Cross-entropy of rows of logits with one target class each, with label smoothing ε (Szegedy et
// al. 2016) as torch.nn.functional.cross_entropy(label_smoothing=ε) defines it. Of V classes, each
// has the share ε / V, and the target 1 - ε besides:
//   loss = log Σ e^x[k] - (1 - ε) · x[target] - ε / V · Σ x[k]
//
// A row's numbers do not depend on other rows, so rows may be computed tile by tile. Targets are
// i32 in the backend's memory, and kernels index by them without a check: a layer looks at them
// while they are on the host. V is at least 1.

/// Computes the loss of each row, in nats. Sums over a row have FP64 totals of short FP32 sums.
struct CrossEntropyLosses {
  Tensor logits_RV;  // any real dtype; 16-bit logits are computed in FP32
  Tensor targets_R;
  double smoothing = 0;  // ε, in [0, 1)
  Tensor losses_R;       // out: f64
};

/// Adds up the losses of each utterance's rows, and gives each row the factor of its gradient:
///   losses[u]  = weights[u] · Σ of the rows of u: a sum over tokens, divided by nothing
///   factors[r] = scale · weights[u], for each row r of u
/// ShapeError for numbers of utterances or rows that do not fit each other.
struct CrossEntropySums {
  Tensor losses_R;                        // f64, utterances one after the other
  std::span<const std::int64_t> lengths;  // rows of each utterance
  const Targets& targets;                 // out: losses
  Tensor factors_R;                       // out: f32, or f64 under f64; or null
  std::span<std::byte> workspace;         // cross_entropy_workspace() bytes
};

/// Returns the workspace of CrossEntropySums, in bytes.
std::size_t cross_entropy_workspace(DeviceKind device, std::size_t utterances);

/// Raises the ShapeErrors of CrossEntropySums. Every backend calls it first.
void expect_rows_that_fit(const CrossEntropySums& op);

/// Computes dlogits[k] = factor · (softmax[k] - ε / V - (k = target) · (1 - ε)), with a factor for
/// each row.
struct CrossEntropyGradient {
  Tensor logits_RV;
  Tensor targets_R;
  double smoothing = 0;
  Tensor factors_R;   // f32, or f64 under f64
  Tensor dlogits_RV;  // out; may be logits_RV
};

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, CrossEntropyLosses& op) {
  w.reads(op.logits_RV);
}

template <class Operands>
void operands(Operands& w, CrossEntropyGradient& op) {
  w.reads(op.logits_RV);
  w.writes(op.dlogits_RV);
}

}  // namespace penstock::layers
