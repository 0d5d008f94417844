#pragma once

#include <string>

#include "layers/layer.h"
#include "layers/ops/gate.h"

namespace penstock::layers {

/// A gated linear unit, which halves the channels: the last half of a frame's channels gates the
/// first (GLU), or the first gates the last (SwiGLU). Saves its input for backward.
class Gate final : public Layer {
 public:
  Gate(std::string name, GateKind kind) : name_(std::move(name)), kind_(kind) {}

  const std::string& name() const override { return name_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;

 private:
  std::string name_;
  GateKind kind_;
};

}  // namespace penstock::layers
