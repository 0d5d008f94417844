#pragma once

#include <cstdint>

#include "layers/ops/norms.h"
#include "layers/ops/slot_coding.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// to += factor · from. Equal sizes and dtypes, f32 or f64.
struct AddInto {
  Tensor from;
  Tensor to;
  double factor = 1;
};

/// By what an update multiplies gradients: what the result in the backend's memory says, and then
/// nothing is changed where it says so; `otherwise` where there is none.
struct GradientFactor {
  double otherwise = 1;
  const GradientNormResult* result = nullptr;
};

/// One step of Adam with decoupled weight decay (Loshchilov & Hutter 2019) as torch.optim.AdamW
/// takes it, for the elements of `blocks` in arenas of one dtype (f32 or f64):
///   g = factor · gradient
///   weight *= 1 - learning_rate · weight_decay
///   mean    = beta1 · mean + (1 - beta1) · g
///   square  = beta2 · square + (1 - beta2) · g²
///   weight -= learning_rate · (mean / (1 - beta1^step)) / (√(square / (1 - beta2^step)) + epsilon)
/// Slots (mean and square here) may also be bf16 or u8 over weights in f32; see SlotCoding.
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
  Tensor rounded = {};    // f16 or bf16: what layers read, the new weight; or none
  SlotCoding coding = {};
};

/// Where LAMB (You et al. 2020, algorithm 2) goes, before it is scaled for each parameter: moments
/// and bias corrections as of AdamWStep, then
///   gradient = (mean / (1 - beta1^step)) / (√(square / (1 - beta2^step)) + epsilon)
///              + weight_decay · weight
struct LambDirection {
  ArenaBlocks blocks;
  Tensor weight;  // read
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

/// One step of gradient descent as torch.optim.SGD (without dampening) takes it, for the elements
/// of `blocks` in arenas of one dtype (f32 or f64); `velocity` starts at 0:
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
  Tensor rounded = {};  // as of AdamWStep
  SlotCoding coding = {};
};

}  // namespace penstock::layers
