#pragma once

#include <cstdint>
#include <string>

#include "layers/layer.h"

namespace penstock::layers {

struct InstanceNormOptions {
  std::string name;
  std::int64_t channels = 0;
  double epsilon = 1e-5;
};

/// Normalises each channel over the frames of an utterance (Ulyanov et al. 2016), as
/// torch.nn.InstanceNorm1d with affine does, and torch.nn.GroupNorm with a group for each channel.
/// An utterance's output does not depend on the others of its micro-batch: it is BatchNorm's
/// training output for that utterance alone. There are no running statistics, so evaluation
/// computes the same. Parameters: "<name>.weight" [channels], starting at 1, and "<name>.bias"
/// [channels], starting at 0.
class InstanceNorm final : public Layer {
 public:
  explicit InstanceNorm(InstanceNormOptions options) : options_(std::move(options)) {}

  const std::string& name() const override { return options_.name; }
  const InstanceNormOptions& options() const { return options_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

 private:
  InstanceNormOptions options_;
};

}  // namespace penstock::layers
