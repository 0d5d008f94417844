#pragma once

#include <cstdint>

#include "layers/tensor/parameter_blocks.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// A norm block, which may be shorter at the end of a parameter, with the offsets of its elements
/// in the arenas of its stage.
struct ArenaBlock {
  std::int64_t place = 0;     // index among the model's blocks
  std::int64_t count = 0;     // elements, at most kNormBlock
  std::int64_t gradient = 0;  // offset in the gradients
  std::int64_t weight = 0;    // offset in the masters
  std::int64_t slot = 0;      // offset in the optimizer's slots
  std::int64_t rounded = -1;  // offset in the rounded copies; -1: layers read the masters
};

/// Consecutive entries of a table of blocks, which lies in the backend's memory.
struct ArenaBlocks {
  const ArenaBlock* first = nullptr;
  std::int64_t count = 0;
};

/// The arena that is read, which selects the offsets of the table.
enum class ArenaOf { gradients, weights };

/// Computes sums[place] = Σ arena[i]² of every block of an arena, f32 or f64. `sums` lies in the
/// backend's memory.
struct SquaredSums {
  ArenaBlocks blocks;
  Tensor arena;
  double* sums = nullptr;
  ArenaOf of = ArenaOf::gradients;
};

/// Computes largest[place] = max |arena[i]| of the same blocks. It is not finite if a number is
/// not.
struct LargestMagnitude {
  ArenaBlocks blocks;
  Tensor arena;
  double* largest = nullptr;
  ArenaOf of = ArenaOf::gradients;
};

/// The norm of the whole gradient and what follows from it, equal on every rank.
struct GradientNormResult {
  double norm = 0;              // norm of the unscaled gradient
  double clip_coefficient = 1;  // factor of the gradients: clipping, divided by the loss scale
  double largest = 0;           // largest magnitude in the unscaled gradient, if all are finite
  std::int64_t skip = 0;        // 1 if something is not finite; then an update changes nothing
};

/// Computes *result from the squared sums of `blocks` blocks, added in their order, for a gradient
/// that is scaled by `loss_scale`. The formula is that of torch.nn.utils.clip_grad_norm_:
///   norm   = √(Σ sums) / loss_scale
///   clip_coefficient = min(1, clip_norm / (norm + 1e-6)) / loss_scale;
///                      1 / loss_scale if clip_norm is 0
/// All memory is the backend's.
struct GradientNorm {
  std::int64_t blocks = 0;
  const double* sums = nullptr;
  const double* largest = nullptr;  // of each block; null: not computed
  double loss_scale = 1;
  double clip_norm = 0;
  GradientNormResult* result = nullptr;
};

}  // namespace penstock::layers
