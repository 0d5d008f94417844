#pragma once

#include <string>
#include <utility>

#include "layers/layer.h"

namespace penstock::layers {

/// Computes y = factor · x, element by element. Saves nothing.
class Scale final : public Layer {
 public:
  Scale(std::string name, double factor) : name_(std::move(name)), factor_(factor) {}

  const std::string& name() const override { return name_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;

 private:
  std::string name_;
  double factor_;
};

}  // namespace penstock::layers
