#pragma once

#include <cstdint>
#include <string>

#include "layers/layer.h"

namespace penstock::layers {

struct DepthwiseConv1dOptions {
  std::string name;
  std::int64_t channels = 0;
  std::int64_t kernel = 1;  // frames that each output sees, the present one included
  std::int64_t left = 0;    // of these, frames before the present one
  bool bias = false;
  bool gated = false;  // convolves glu(x), of which x has 2 · channels
};

/// Convolution over the frames of an utterance, each channel by itself. With `left` 0
/// it is the lookahead of one-directional models (Wang et al. 2016); with (kernel - 1) / 2, that of
/// a Conformer; with kernel - 1 it is causal. Parameters: "<name>.weight" [channels, kernel],
/// PyTorch's Conv1d weight without its middle axis, and, with bias, "<name>.bias" [channels]; they
/// start uniform in ±1/sqrt(kernel). Gated, it keeps x alone, and makes glu(x) again for backward.
class DepthwiseConv1d final : public Layer {
 public:
  /// ShapeError unless 0 <= left < kernel.
  explicit DepthwiseConv1d(DepthwiseConv1dOptions options);

  const std::string& name() const override { return options_.name; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

 private:
  DepthwiseConv1dOptions options_;
};

}  // namespace penstock::layers
