#pragma once

#include <string>

#include "layers/layer.h"

namespace penstock::layers {

/// Computes y = min(max(x, 0), bound), element by element. Saves its output for backward, which the
/// next layer saves anyway as its input.
class ClippedReLU final : public Layer {
 public:
  explicit ClippedReLU(std::string name, double bound = 20);

  const std::string& name() const override { return name_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;

 private:
  std::string name_;
  double bound_;
};

}  // namespace penstock::layers
