#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "layers/activation.h"

namespace penstock::layers {

enum class DeviceKind { cpu, cuda };

/// How CUDA devices multiply FP32 numbers: as they are, or rounded to TF32 (10 bits of mantissa)
/// for tensor cores. Sums are FP32 in both.
enum class Fp32Products { full, tf32 };

/// What sizes and costs depend on besides the input: data, so that a plan can be made on any
/// machine. No size depends on `products`.
struct BackendSizes {
  DeviceKind device = DeviceKind::cpu;
  DType compute = DType::f32;
  Fp32Products products = Fp32Products::full;
};

/// Bytes that a stream which computes keeps for libraries, besides what layers declare.
constexpr std::size_t stream_workspace(const BackendSizes& sizes) {
  return sizes.device == DeviceKind::cuda ? std::size_t{32} << 20 : 0;
}

/// How a parameter starts, from (seed, name) alone.
struct Initialiser {
  enum class Kind { constant, uniform } kind = Kind::constant;
  double value = 0;  // the constant, or the bound of uniform(-value, value)
};

struct ParamDecl {
  std::string name;  // global: "<layer>.<parameter>"
  Shape shape;
  Initialiser initialiser;
  bool full_precision = false;  // FP32 where layers compute in halves: scales and shifts of norms
  double rate = 1;              // factor of the learning rate; 0: frozen

  bool frozen() const { return rate == 0; }
};

/// Numbers that are checkpointed but not trained, such as running means.
struct StateDecl {
  std::string name;
  Shape shape;
  double initial = 0;
};

/// How long a saved tensor lives.
enum class Life {
  to_backward_input,   // written by forward, last read by backward_input
  to_backward_weight,  // written by forward, last read by backward_weight
  carried,             // written by backward_input, read by backward_weight
};

/// A tensor that must stay alive. Besides memory of its own, a layer may ask that its input, output
/// or their gradients stay; those exist once, whoever else asks for them.
struct SavedDecl {
  enum class Kind { own, input, output, input_gradient, output_gradient } kind = Kind::own;
  Life life = Life::to_backward_weight;
  DType dtype = DType::f32;
  Shape shape = {};  // of Kind::own
};

/// Scratch memory in bytes, for each method.
struct Workspace {
  std::size_t forward = 0, backward_input = 0, backward_weight = 0;
};

/// Floating-point operations (a multiply-add counts two), for each method.
struct Flops {
  double forward = 0, backward_input = 0, backward_weight = 0;
};

/// What the work is bound by, for a planner that has no measurements.
enum class Work { elementwise, product, convolution, recurrence, attention };

/// Everything that planning and allocation need to know of a layer, for one input.
struct LayerPlan {
  ActivationDecl output;
  std::vector<ParamDecl> params;
  std::vector<StateDecl> state;
  std::size_t sums = 0;  // FP64 numbers that forward leaves for commit_state, per micro-batch
  std::vector<SavedDecl> saved;
  Workspace workspace;
  Flops flops;
  Work work = Work::elementwise;
  /// Its output costs so little that a residual unit, where it can, makes it again before backward
  /// instead of keeping it beside what it was made of.
  bool remade = false;
  bool needs_targets = false;  // reads labels; adds a loss where `output` is empty
  /// False: nobody asks for the gradient of its input, since nothing before the layer is trained.
  bool passes_gradient = true;

  /// False: all its parameters are frozen, or it has none.
  bool trained() const {
    return std::any_of(params.begin(), params.end(),
                       [](const ParamDecl& p) { return !p.frozen(); });
  }
  /// False: neither the layer nor one before it is trained.
  bool runs_backward() const { return passes_gradient || trained(); }
};

}  // namespace penstock::layers
