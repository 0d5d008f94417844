#pragma once

#include <cstdint>

#include "layers/tensor/norm_blocks.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// A norm block, which may be shorter at the end of a parameter, and where its elements begin in
/// the arenas of its stage.
struct ArenaBlock {
  std::int64_t place = 0;  // among the model's blocks
  std::int64_t count = 0;  // elements, at most kNormBlock
  std::int64_t gradient = 0;
  std::int64_t weight = 0;    // of the masters
  std::int64_t slot = 0;      // of what the optimizer keeps of each element
  std::int64_t rounded = -1;  // of the copies that layers read; -1: they read the masters
};

/// Consecutive entries of a table of blocks in the backend's memory.
struct ArenaBlocks {
  const ArenaBlock* first = nullptr;
  std::int64_t count = 0;
};

/// Whose places of the table hold.
enum class ArenaOf { gradients, weights };

/// sums[place] = Σ arena[i]² of every block of an arena, f32 or f64. `sums` is of the backend's
/// memory.
struct SquaredSums {
  ArenaBlocks blocks;
  Tensor arena;
  double* sums = nullptr;
  ArenaOf of = ArenaOf::gradients;
};

/// largest[place] = max |arena[i]| of the same; not finite where a number is not.
struct LargestMagnitude {
  ArenaBlocks blocks;
  Tensor arena;
  double* largest = nullptr;
  ArenaOf of = ArenaOf::gradients;
};

/// The norm of the whole gradient and what follows from it, for every rank alike.
struct GradientNormResult {
  double norm = 0;              // of the unscaled gradient
  double clip_coefficient = 1;  // times the gradients: of clipping, over the loss scale
  double largest = 0;           // magnitude in the unscaled gradient, if all are finite
  std::int64_t skip = 0;        // 1: something is not finite, and an update changes nothing
};

/// *result from the squared sums of `blocks` blocks, added in their order, of a gradient that was
/// scaled by `loss_scale`, as torch.nn.utils.clip_grad_norm_ has it:
///   norm   = √(Σ sums) / loss_scale
///   clip_coefficient = min(1, clip_norm / (norm + 1e-6)) / loss_scale;
///                      1 / loss_scale where clip_norm is 0
/// All memory is the backend's.
struct GradientNorm {
  std::int64_t blocks = 0;
  const double* sums = nullptr;
  const double* largest = nullptr;  // of each block; null: not asked
  double loss_scale = 1;
  double clip_norm = 0;
  GradientNormResult* result = nullptr;
};

}  // namespace penstock::layers
