#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "layers/layer.h"
#include "layers/nn/layer_drop.h"

namespace penstock::layers {

struct ResidualLayout;
class AlternatingBuffers;

struct ResidualOptions {
  std::string name;
  std::int64_t channels = 0;
  double scale = 1;               // factor of the parts' output: 1/2 in a Conformer's feed-forward
  bool recomputes_cheap = false;  // backward recomputes cheap parts: see Residual
  double layer_drop = 0;          // share of utterances, 0 to 1, that skip the parts in training
  bool training_only = false;     // evaluation skips the parts, which add zeros: y = x
  std::vector<std::unique_ptr<Layer>> parts;  // at least one
};

/// A part of a residual unit, with its input and its plan.
struct ResidualPart {
  const Layer* layer = nullptr;
  ActivationDecl input;
  LayerPlan plan;
  bool recomputed =
      false;  // the unit's backward recomputes its output, by ResidualOptions::recomputes_cheap
};

/// Computes y = x + scale · f(x), where f runs the parts one after the other. No part changes the
/// number of frames. The unit is one link of the layer sequence, so a stage begins before or after
/// it. Its parameters, state and saved tensors are those of its parts.
///
/// With a layer_drop, utterances are dropped as LayerDrop says, and f counts as 0 for them. If all
/// utterances of a micro-batch are dropped, nothing is computed.
///
/// Backward recomputes the outputs of parts with LayerPlan::cheap_to_recompute, so a nonlinearity
/// saves its input or its output, not both. With ResidualOptions::recomputes_cheap it also
/// recomputes the outputs of other parts without a matrix product (selective recomputation,
/// Korthikanti et al. 2022): norms, nonlinearities, gates, dropout and depthwise convolutions,
/// which are cheap beside a product. Parts with statistics for a step are excepted. Recomputation
/// changes no bit.
class Residual final : public Layer {
 public:
  /// ShapeError if there are no parts, or unless 0 <= layer_drop < 1.
  explicit Residual(ResidualOptions options);

  const std::string& name() const override { return options_.name; }
  double scale() const { return options_.scale; }
  bool training_only() const { return options_.training_only; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;
  std::vector<double> pool(std::span<const double> sums) const override;
  void commit_state(Context&, std::span<const double> sums,
                    std::span<const Tensor> state) const override;

  /// Returns the parts with their inputs and plans, in the order in which they run.
  std::vector<ResidualPart> parts(const ActivationDecl& input, const BackendSizes& sizes) const;

  /// Returns the parts in the order in which they run.
  std::span<const std::unique_ptr<Layer>> sequence() const { return options_.parts; }

  /// Replaces each part by what `replace` returns for it, such as a wrapper. It is given the part
  /// and the number of its parameters, in the order in which parts run. The new part must have the
  /// same output.
  using Replace =
      std::function<std::unique_ptr<Layer>(std::unique_ptr<Layer> part, std::size_t parameters)>;
  void replace_parts(const Replace& replace);

  /// Sets ResidualOptions::recomputes_cheap.
  void recompute_cheap_parts() { options_.recomputes_cheap = true; }

 private:
  /// Recomputes the activations that are marked in the layout. `part` is the context of the parts.
  void recompute(Context& part, const ResidualLayout& inner, const Params& params,
                 const AlternatingBuffers& passing, Saved saved) const;
  ResidualLayout layout(const ActivationDecl& input, const BackendSizes& sizes) const;
  /// Returns the layout of the micro-batch that is being computed.
  ResidualLayout layout(const Context& context, DType dtype) const;

  /// Returns true if the gradient of the parts' output is not that of y.
  bool scales() const { return options_.scale != 1 || drop_.active(); }

  ResidualOptions options_;
  LayerDrop drop_;
};

}  // namespace penstock::layers
