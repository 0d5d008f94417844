#pragma once

#include <atomic>
#include <memory>

#include "layers/layer.h"

namespace penstock::test {

/// A layer whose gradients overflow in one call: those of its weights, or of its input where it has
/// none. Its calls are counted over all steps, from 0.
class PoisonedLayer final : public layers::Layer {
 public:
  PoisonedLayer(std::unique_ptr<layers::Layer> inner, int call)
      : inner_(std::move(inner)), call_(call) {}

  const std::string& name() const override { return inner_->name(); }
  layers::LayerPlan plan(const layers::ActivationDecl& input,
                         const layers::BackendSizes& sizes) const override {
    return inner_->plan(input, sizes);
  }
  void forward(layers::Context& c, const layers::Params& p, const layers::Activation& x,
               layers::Activation& y, layers::Saved s) const override {
    inner_->forward(c, p, x, y, s);
  }
  void backward_input(layers::Context&, const layers::Params&, const layers::Activation& dy,
                      layers::Saved, layers::Activation& dx) const override;
  void backward_weight(layers::Context&, layers::Saved, layers::Grads) const override;
  std::vector<double> pool(std::span<const double> sums) const override {
    return inner_->pool(sums);
  }
  void commit_state(layers::Context& c, std::span<const double> sums,
                    std::span<const layers::Tensor> state) const override {
    inner_->commit_state(c, sums, state);
  }

 private:
  std::unique_ptr<layers::Layer> inner_;
  int call_;
  mutable std::atomic<int> calls_ = 0;
};

}  // namespace penstock::test
