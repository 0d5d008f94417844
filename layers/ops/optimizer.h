#pragma once

#include <cstdint>

#include "layers/ops/norms.h"
#include "layers/philox.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Further arguments of a step if the slots of its optimizer are not f32 or f64. The step decodes
/// the slots to FP32, computes, and encodes them again:
///   bf16  rounded stochastically, so that changes below half a unit in the last place arrive on
///         average (layers/random_rounding.h)
///   u8    codes of a map, times `scales`, the largest magnitude of each code block
///         (layers/code_map.h)
struct SlotCoding {
  PhiloxStream random = {};   // for bf16; slot_random()
  Tensor first_scales = {};   // for u8, f32: scales of the mean or the velocity
  Tensor second_scales = {};  // for u8, f32: scales of the square
};

/// Returns the random numbers of a step, counted from 1: a function of seed and step. Each element
/// of a model takes its own of them.
constexpr PhiloxStream slot_random(std::uint64_t seed, std::int64_t step) {
  const auto number = static_cast<std::uint64_t>(step);
  return philox_stream(seed,
                       {low_word(number), high_word(number), hash_of_name("optimizer.state"), 0});
}

/// Computes to += factor · from. Sizes and dtypes are equal, f32 or f64.
struct AddInto {
  Tensor from;
  Tensor to;
  double factor = 1;
};

/// Scale applied to gradients. If `result` is set, the scale is read from the backend's memory, and
/// the update is skipped if it says so. Otherwise `otherwise` applies.
struct GradientFactor {
  double otherwise = 1;
  const GradientNormResult* result = nullptr;
};

/// Takes one step of Adam with decoupled weight decay (Loshchilov & Hutter 2019), as
/// torch.optim.AdamW does, for the elements of `blocks` in arenas of one dtype (f32 or f64):
///   g = factor · gradient
///   weight *= 1 - learning_rate · weight_decay
///   mean    = beta1 · mean + (1 - beta1) · g
///   square  = beta2 · square + (1 - beta2) · g²
///   weight -= learning_rate · (mean / (1 - beta1^step)) / (√(square / (1 - beta2^step)) + epsilon)
/// Slots (here mean and square) may also be bf16 or u8 if weights are f32; see SlotCoding.
struct AdamWStep {
  ArenaBlocks blocks;
  Tensor weight;  // FP32 masters
  Tensor mean;
  Tensor square;
  Tensor gradient;
  double learning_rate = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  GradientFactor factor = {};
  std::int64_t step = 1;  // counted from 1
  Tensor rounded = {};    // f16 or bf16: out, the new weight that layers read; or none
  SlotCoding coding = {};
};

/// Computes the direction of LAMB (You et al. 2020, algorithm 2), before it is scaled for each
/// parameter: moments and bias corrections as in AdamWStep, then
///   gradient = (mean / (1 - beta1^step)) / (√(square / (1 - beta2^step)) + epsilon)
///              + weight_decay · weight
struct LambDirection {
  ArenaBlocks blocks;
  Tensor weight;  // read only
  Tensor mean;
  Tensor square;
  Tensor gradient;  // in and out
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0;
  GradientFactor factor = {};
  std::int64_t step = 1;  // counted from 1
  SlotCoding coding = {};
};

/// Takes one step of gradient descent, as torch.optim.SGD without dampening does, for the elements
/// of `blocks` in arenas of one dtype (f32 or f64). `velocity` starts at 0:
///   g        = factor · gradient + weight_decay · weight
///   velocity = momentum · velocity + g
///   weight  -= learning_rate · (nesterov ? g + momentum · velocity : velocity)
struct SgdStep {
  ArenaBlocks blocks;
  Tensor weight;  // FP32 masters
  Tensor velocity;
  Tensor gradient;
  double learning_rate = 0;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  GradientFactor factor = {};
  Tensor rounded = {};  // as in AdamWStep
  SlotCoding coding = {};
};

/// Moves averages of weights, as torch.optim.swa_utils and timm do, for the elements of `blocks` in
/// arenas of one dtype (f32 or f64):
///   average += (1 - decay) · (weight - average)
/// An element has the same offset among the averages as in the optimizer's slots. Of `factor`, only
/// the skipped step counts.
struct MoveAverages {
  ArenaBlocks blocks;
  Tensor weight;  // read only
  Tensor average;
  double decay = 0.999;
  GradientFactor factor = {};
};

}  // namespace penstock::layers
