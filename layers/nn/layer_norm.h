#pragma once

#include <cstdint>
#include <string>

#include "layers/layer.h"

namespace penstock::layers {

struct LayerNormOptions {
  std::string name;
  std::int64_t channels = 0;
  double epsilon = 1e-5;
  bool centred = true;  // false: RMSNorm, which subtracts no mean
  bool bias = true;     // false for RMSNorm
};

/// Normalises each frame over its channels: LayerNorm or RMSNorm. A frame's output does not depend
/// on other frames. Parameters: "<name>.weight" [channels], starting at 1, and with bias
/// "<name>.bias" [channels], starting at 0.
class LayerNorm final : public Layer {
 public:
  explicit LayerNorm(LayerNormOptions options) : options_(std::move(options)) {}

  const std::string& name() const override { return options_.name; }
  const LayerNormOptions& options() const { return options_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

 private:
  LayerNormOptions options_;
};

}  // namespace penstock::layers
