#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "layers/layer.h"
#include "layers/ops/conv2d.h"

namespace penstock::layers {

struct Conv2dOptions {
  std::string name;
  std::int64_t in_channels = 1, out_channels = 1;
  std::int64_t in_frequencies = 1;
  Conv2dAxis frequency, time;
  bool bias = false;
  bool depthwise = false;  // each channel by itself: as many output channels as input channels
  /// Frames of the pieces into which each utterance is cut (layers/nn/pieces.h); 0: it stays whole.
  std::int64_t piece = 0;
};

/// 2-D convolution over frequency and time; rows are [frequency][channel]. An utterance of n frames
/// becomes one of time.outputs(n) frames, or of as many as its pieces have. Parameters:
/// "<name>.weight" [out, in, frequency kernel, time kernel], depthwise without the second axis,
/// and, with bias, "<name>.bias" [out]. They start uniform in ±1/sqrt(numbers that an output sees),
/// as PyTorch's do.
class Conv2d final : public Layer {
 public:
  /// ShapeError if the options describe no convolution.
  explicit Conv2d(Conv2dOptions options);

  const std::string& name() const override { return options_.name; }
  const Conv2dOptions& options() const { return options_; }
  std::int64_t out_frequencies() const { return geometry({}).out_frequencies(); }

  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

 private:
  Conv2dGeometry geometry(std::span<const std::int64_t> lengths) const;
  std::vector<std::int64_t> out_lengths(std::span<const std::int64_t> lengths) const;

  Conv2dOptions options_;
};

}  // namespace penstock::layers
