#pragma once

#include <cstdint>
#include <string>

#include "layers/layer.h"

namespace penstock::layers {

struct LookaheadOptions {
  std::string name;
  std::int64_t channels = 0;
  std::int64_t context = 20;  // frames that each output sees, the present one included
};

/// Depthwise convolution over the present and the next frames of an utterance, which lets a
/// one-directional model look a little ahead. Parameter: "<name>.weight" [channels, context],
/// PyTorch's Conv1d weight without its middle axis; no bias.
class Lookahead final : public Layer {
 public:
  explicit Lookahead(LookaheadOptions options);

  const std::string& name() const override { return options_.name; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

 private:
  LookaheadOptions options_;
};

}  // namespace penstock::layers
