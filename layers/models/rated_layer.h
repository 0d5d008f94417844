#pragma once

#include <memory>
#include <string>
#include <vector>

#include "layers/layer.h"

namespace penstock::layers {

/// Wraps a layer to give its parameters learning rates of their own; 0 freezes them. The plan
/// states the rates; all else is the wrapped layer's.
class RatedLayer final : public Layer {
 public:
  struct Rates {
    std::vector<double> of_parameters;  // ParamDecl::rate, in the order of the plan
    bool passes_gradient = true;  // LayerPlan::passes_gradient, unless the layer reads it itself
  };
  RatedLayer(std::unique_ptr<Layer> layer, Rates rates);

  const std::string& name() const override { return layer_->name(); }
  /// Returns the layer's plan without the operations, workspace, gradient sums and saved tensors of
  /// what is never computed.
  LayerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;
  std::vector<double> pool(std::span<const double> sums) const override {
    return layer_->pool(sums);
  }
  void commit_state(Context&, std::span<const double> sums,
                    std::span<const Tensor> state) const override;

  const Layer& rated() const { return *layer_; }

 private:
  std::unique_ptr<Layer> layer_;
  Rates rates_;
};

/// Replaces a layer by one that trains with these rates. The parts of a residual unit are wrapped
/// each, so that one whose parameters are all frozen takes no gradients; so are layers within
/// another.
void rate_layer(std::unique_ptr<Layer>& layer, RatedLayer::Rates rates);

/// Returns the layer that is wrapped, or the layer itself.
[[nodiscard]] const Layer& unrated(const Layer& layer);

}  // namespace penstock::layers
