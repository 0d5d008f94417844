#pragma once

#include <string>
#include <utility>

#include "layers/layer.h"

namespace penstock::layers {

/// Computes y[t] = scale · x[t] + table[t], where t counts from an utterance's first frame:
/// absolute positions (Vaswani et al. 2017), the PositionalEncoding of PyTorch's tutorial, ESPnet
/// and NeMo. The table (layers/ops/positions.h) is made once for all utterances of a
/// micro-batch, in scratch. It has no parameters and saves nothing.
class SinusoidalPositions final : public Layer {
 public:
  SinusoidalPositions(std::string name, double scale) : name_(std::move(name)), scale_(scale) {}

  const std::string& name() const override { return name_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;

 private:
  std::string name_;
  double scale_;
};

}  // namespace penstock::layers
