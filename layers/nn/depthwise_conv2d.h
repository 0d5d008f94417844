#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "layers/layer.h"
#include "layers/ops/depthwise_conv2d.h"

namespace penstock::layers {

struct DepthwiseConv2dOptions {
  std::string name;
  std::int64_t channels = 1;
  std::int64_t in_frequencies = 1;
  Conv2dAxis frequency, time;
  bool bias = false;
};

/// 2-D convolution over frequency and time, each channel by itself; rows are [frequency][channel].
/// Each utterance of n frames becomes one of time.outputs(n). Parameters: "<name>.weight"
/// [channels, frequency kernel, time kernel] and, with bias, "<name>.bias" [channels], starting
/// uniform in ±1/sqrt(kernels) as PyTorch's do.
class DepthwiseConv2d final : public Layer {
 public:
  /// ShapeError if the options make no convolution.
  explicit DepthwiseConv2d(DepthwiseConv2dOptions options);

  const std::string& name() const override { return options_.name; }
  std::int64_t out_frequencies() const { return geometry({}).out_frequencies(); }

  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

 private:
  DepthwiseConv2dGeometry geometry(std::span<const std::int64_t> lengths) const;

  DepthwiseConv2dOptions options_;
};

}  // namespace penstock::layers
