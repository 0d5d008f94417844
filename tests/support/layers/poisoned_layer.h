#pragma once

#include <atomic>
#include <memory>

#include "layers/layer.h"

namespace penstock::test {

/// A layer whose gradients overflow in one call: those of its weights, or of its input where it has
/// none. Its calls are counted over all steps, from 0.
class PoisonedLayer final : public Layer {
 public:
  PoisonedLayer(std::unique_ptr<Layer> inner, int call) : inner_(std::move(inner)), call_(call) {}

  const std::string& name() const override { return inner_->name(); }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const override {
    return inner_->plan(input, sizes);
  }
  void forward(Context& c, const Params& p, const Activation& x, Activation& y,
               Saved s) const override {
    inner_->forward(c, p, x, y, s);
  }
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;
  void commit_state(std::span<const double> sums, std::span<const Tensor> state) const override {
    inner_->commit_state(sums, state);
  }

 private:
  std::unique_ptr<Layer> inner_;
  int call_;
  mutable std::atomic<int> calls_ = 0;
};

}  // namespace penstock::test
