#pragma once

#include <string>

#include "layers/layer.h"
#include "layers/ops/nonlinearity.h"

namespace penstock::layers {

/// Computes y = f(x), element by element: GELU or SiLU. Saves its input for backward.
class Nonlinearity final : public Layer {
 public:
  Nonlinearity(std::string name, NonlinearityKind kind) : name_(std::move(name)), kind_(kind) {}

  const std::string& name() const override { return name_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;

 private:
  std::string name_;
  NonlinearityKind kind_;
};

}  // namespace penstock::layers
