#pragma once

#include <cstdint>
#include <string>

#include "layers/layer.h"

namespace penstock::layers {

struct DepthwiseConv1dOptions {
  std::string name;
  std::int64_t channels = 0;
  std::int64_t kernel = 1;  // frames that an output sees, the present one included
  std::int64_t left = 0;    // how many of these precede the present one
  bool bias = false;
  bool gated = false;  // convolves glu(x); x has 2 · channels
};

/// Convolution over the frames of an utterance, each channel by itself. With `left` 0 it is the
/// lookahead of one-directional models (Wang et al. 2016); with (kernel - 1) / 2, the convolution
/// of a Conformer; with kernel - 1 it is causal. Parameters: "<name>.weight" [channels, kernel],
/// which is PyTorch's Conv1d weight without its middle axis, and, with bias, "<name>.bias"
/// [channels]. They start uniform in ±1/sqrt(kernel). If gated, it saves x alone, and backward
/// recomputes glu(x).
class DepthwiseConv1d final : public Layer {
 public:
  /// ShapeError unless 0 <= left < kernel.
  explicit DepthwiseConv1d(DepthwiseConv1dOptions options);

  const std::string& name() const override { return options_.name; }
  const DepthwiseConv1dOptions& options() const { return options_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

 private:
  DepthwiseConv1dOptions options_;
};

}  // namespace penstock::layers
