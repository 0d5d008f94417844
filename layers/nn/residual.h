#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "layers/layer.h"
#include "layers/nn/layer_drop.h"

namespace penstock::layers {

struct ResidualLayout;
class PassingBuffers;

struct ResidualOptions {
  std::string name;
  std::int64_t channels = 0;
  double scale = 1;       // of what the parts add: 1/2 of a Conformer's feed-forward
  bool remakes = false;   // backward runs cheap parts again: see Residual
  double layer_drop = 0;  // share of utterances that pass by the parts in training, of 0 to 1
  std::vector<std::unique_ptr<Layer>> parts;  // at least one
};

/// A part of a residual unit, and its input.
struct ResidualPart {
  const Layer* layer = nullptr;
  ActivationDecl input;
  LayerPlan plan;
  bool remade = false;  // since the unit remakes, it runs forward again before the unit's backward
};

/// y = x + scale · f(x), f being its parts one after the other, none of which changes the number of
/// frames. One link of the layer sequence: a stage begins before or behind it. Parameters, state
/// and kept tensors are those of the parts. With a layer_drop, utterances are dropped as LayerDrop
/// says: what the parts compute of them counts 0. Where all of a micro-batch are, nothing is
/// computed. What LayerPlan::remade says of a part, backward makes again, so that of a nonlinearity
/// only one side is kept. If the unit remakes, what parts without a matrix product made of what
/// stays is made again before backward (selective recomputation, Korthikanti et al. 2022): norms,
/// nonlinearities, gates, dropout and depthwise convolutions, which are cheap beside a product, but
/// not what has statistics for a step. That changes no bit.
class Residual final : public Layer {
 public:
  /// ShapeError without parts, or unless 0 <= layer_drop < 1.
  explicit Residual(ResidualOptions options);

  const std::string& name() const override { return options_.name; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;
  std::vector<double> pool(std::span<const double> sums) const override;
  void commit_state(Context&, std::span<const double> sums,
                    std::span<const Tensor> state) const override;

  /// In the order in which they run.
  std::vector<ResidualPart> parts(const ActivationDecl& input, const BackendSizes& sizes) const;

  /// From now on: ResidualOptions::remakes.
  void remake_cheap_parts() { options_.remakes = true; }

 private:
  /// Runs the parts again whose output is remade. `part` is their context.
  void remake(Context& part, const ResidualLayout& inner, const Params& params,
              const PassingBuffers& passing, Saved saved) const;
  ResidualLayout layout(const ActivationDecl& input, const BackendSizes& sizes) const;
  /// Of a micro-batch that is being computed.
  ResidualLayout layout(const Context& context, DType dtype) const;

  /// Whether the parts are given another gradient than that of y.
  bool scales() const { return options_.scale != 1 || drop_.active(); }

  ResidualOptions options_;
  LayerDrop drop_;
};

}  // namespace penstock::layers
