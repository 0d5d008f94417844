#pragma once

#include <string>

#include "layers/layer.h"

namespace penstock::layers {

/// Sets a share `probability` of the numbers to 0, and scales the others so that the mean stays.
/// Nothing is saved: backward samples the mask again. In evaluation it copies its input.
class Dropout final : public Layer {
 public:
  /// ShapeError unless 0 <= probability < 1.
  Dropout(std::string name, double probability);

  const std::string& name() const override { return name_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;

 private:
  std::string name_;
  double probability_;
};

}  // namespace penstock::layers
