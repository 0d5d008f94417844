#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "layers/context.h"
#include "layers/layer_plan.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Connectionist temporal classification (Graves et al. 2006) over the log-softmax of each frame's
/// logits, with blank 0. The loss of an utterance is -log of the probability of all paths that give
/// its labels. If ctc_frames_needed exceeds the frames, the loss would be infinite; loss and
/// gradient are 0 then. With label smoothing ε (Kim et al. 2018), the loss of an utterance is
///   (1 - ε) · CTC + ε · Σ over frames of the cross-entropy of a uniform distribution
/// which keeps the classes of a frame from becoming too sure. Sums are of logarithms in the logits'
/// dtype, shifted to near 0 at every frame. ShapeError for labels that are not classes, and for
/// numbers of utterances that differ.
struct CtcLoss {
  Tensor logits_FC;  // any real dtype; 16-bit logits are computed in FP32
  std::span<const std::int64_t> lengths;
  const Targets& targets;  // out: losses[u] = weights[u] · loss
  Tensor gradient_FC;      // out: scale · weights[u] · d loss / d logits, f32 or f64; or null
  std::span<std::byte> workspace;  // ctc_workspace bytes
  double smoothing = 0;            // ε, from 0 to below 1
};

/// Returns the workspace, in bytes, for utterances of these lengths, whatever their labels.
/// `sizes.compute` is the dtype of the logits.
std::size_t ctc_workspace(const BackendSizes& sizes, std::span<const std::int64_t> lengths,
                          std::int64_t classes);

/// Raises the ShapeErrors above. Every backend calls it first.
void expect_targets_that_fit(const CtcLoss& op);

/// Returns the fewest frames that fit the labels: their number plus the number of adjacent equal
/// pairs.
std::int64_t ctc_frames_needed(std::span<const std::int32_t> labels);

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, CtcLoss& op) {
  w.reads(op.logits_FC);
}

}  // namespace penstock::layers
