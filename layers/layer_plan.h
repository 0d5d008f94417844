#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layers/activation.h"

namespace penstock::layers {

enum class DeviceKind { cpu, cuda };

/// How CUDA devices multiply FP32 numbers: exactly as they are, or rounded to TF32 (10 bits of
/// mantissa) for tensor cores. Sums are FP32 in both.
enum class Fp32Products { full, tf32 };

/// Everything besides the input on which sizes and costs depend. It is plain data, so that a plan
/// can be made on any machine. No size depends on `products`.
struct BackendSizes {
  DeviceKind device = DeviceKind::cpu;
  DType compute = DType::f32;
  Fp32Products products = Fp32Products::full;
};

/// Returns the bytes that a computing stream keeps for libraries, besides what layers declare.
constexpr std::size_t stream_workspace(const BackendSizes& sizes) {
  return sizes.device == DeviceKind::cuda ? std::size_t{32} << 20 : 0;
}

/// Distribution of a parameter's initial values, which follow from (seed, name) alone.
struct Initialiser {
  /// `sinusoids` are positions in halves (layers/ops/positions.h), one for each row of a matrix.
  enum class Kind { constant, uniform, sinusoids } kind = Kind::constant;
  double value = 0;  // the constant, or the bound of uniform(-value, value)
};

struct ParamDecl {
  std::string name;  // global: "<layer>.<parameter>"
  Shape shape;
  Initialiser initialiser;
  bool full_precision = false;  // FP32 even if layers compute in 16 bits: parameters of norms
  double rate = 1;              // factor of the learning rate; 0: frozen
  /// True if it has a gradient sum. A frozen parameter has one only beside a trained one in the
  /// same part of a layer.
  bool summed = true;
  /// Name of an earlier layer's parameter of the same shape, whose values this one has too, or "".
  /// That one is the owner: it alone is updated, and saved. Gradient sums are of this one's own
  /// until the step's end, when they are added to the owner's.
  std::string tied_to = {};

  bool frozen() const { return rate == 0; }
  bool tied() const { return !tied_to.empty(); }
  /// True if an optimizer updates it, with state of its own.
  bool updated() const { return !frozen() && !tied(); }
  /// Returns the name under which its values are saved.
  const std::string& saved_name() const { return tied() ? tied_to : name; }
};

/// State that is checkpointed but not trained, such as running means.
struct StateDecl {
  std::string name;
  Shape shape;
  double initial = 0;
};

/// Lifetime of a saved tensor.
enum class Life {
  to_backward_input,   // written by forward, last read by backward_input
  to_backward_weight,  // written by forward, last read by backward_weight
  carried,             // written by backward_input, read by backward_weight
};

/// A tensor that must stay alive. Besides memory of its own, a layer may ask that its input, its
/// output or their gradients stay. Those exist once, however many layers ask for them. Kind::none
/// holds the place of a tensor that a frozen layer does not need: it is empty.
struct SavedDecl {
  enum class Kind { own, input, output, input_gradient, output_gradient, none } kind = Kind::own;
  Life life = Life::to_backward_weight;
  DType dtype = DType::f32;
  Shape shape = {};          // for Kind::own
  bool for_weights = false;  // read by backward_weight alone
};

/// Workspace in bytes, for each method.
struct Workspace {
  std::size_t forward = 0, backward_input = 0, backward_weight = 0;
};

/// Floating-point operations (a multiply-add counts two), for each method.
struct Flops {
  double forward = 0, backward_input = 0, backward_weight = 0;
};

/// The kind of a layer's work, from which a planner without measurements estimates its time.
enum class Work { elementwise, product, convolution, recurrence, attention };

/// All that planning and allocation need to know of a layer, for one input.
struct LayerPlan {
  ActivationDecl output;
  std::vector<ParamDecl> params;
  std::vector<StateDecl> state;
  std::size_t sums = 0;  // FP64 numbers that forward leaves for commit_state, per micro-batch
  std::vector<SavedDecl> saved;
  Workspace workspace;
  Flops flops;
  Work work = Work::elementwise;
  /// The output is cheap to recompute: a residual unit recomputes it before backward, where it can,
  /// instead of saving it beside its input.
  bool cheap_to_recompute = false;
  /// Channels of the keys, and as many of the values, that the layer keeps of each row to compute
  /// later rows of the utterance by themselves (layers/key_value_cache.h). 0: it computes each row
  /// by itself. Without a value it can do neither.
  std::optional<std::int64_t> cache_channels;
  /// The cached rows are those of the first matrix, the memory, which stay the same.
  bool caches_memory = false;
  /// Frames of the chunks into which the layers after it cut utterances, counted in its own input,
  /// which is that of the model; 0: none. Such layers leave most rows, and have most pieces, for
  /// utterances of one frame more than some full chunks.
  std::int64_t chunk = 0;
  bool needs_targets = false;  // reads labels; adds a loss where `output` is empty
  std::size_t losses = 1;      // parts of an utterance's loss, if it adds one: see Targets::losses
  /// In training it reads labels and computes a loss beside its output. Nothing that it puts out
  /// depends on labels, and the loss is no part of what a training reports.
  bool auxiliary_loss = false;
  /// False if no layer before this one is trained, so nobody needs the gradient of its input.
  bool passes_gradient = true;

  /// Returns false if all its parameters are frozen, or if it has none.
  bool trained() const {
    return std::any_of(params.begin(), params.end(),
                       [](const ParamDecl& p) { return !p.frozen(); });
  }
  /// Returns false if neither the layer nor one before it is trained.
  bool runs_backward() const { return passes_gradient || trained(); }
};

}  // namespace penstock::layers
