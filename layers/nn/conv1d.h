#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "layers/layer.h"
#include "layers/ops/conv1d.h"

namespace penstock::layers {

struct Conv1dOptions {
  std::string name;
  std::int64_t in_channels = 1, out_channels = 1, groups = 1;
  std::int64_t kernel = 1, stride = 1, dilation = 1;
  std::int64_t left = 0, right = 0;  // frames of zeros before and after each utterance
  bool bias = true;
  bool weight_norm = false;  // a norm for each tap, as in wav2vec 2.0's positions
  double deviation = 0;      // standard deviation of uniform initial weights; 0: PyTorch's range
};

/// Convolution over the frames of each utterance, which makes Conv1dGeometry::outputs(n) frames
/// from n. With `left` = dilation · (kernel - 1) it is causal. Parameters: "<name>.weight" [out, in
/// of a group, kernel], or with weight norm "<name>.weight_g" [1, 1, kernel] and "<name>.weight_v"
/// [out, in of a group, kernel]; with bias, "<name>.bias" [out].
///
/// Parameters start uniform in ±1/sqrt(in of a group · kernel), as PyTorch's do. weight_g starts at
/// the norm of taps with that distribution. Weights without weight norm start with `deviation`, if
/// it is given.
class Conv1d final : public Layer {
 public:
  /// ShapeError if the options describe no convolution.
  explicit Conv1d(Conv1dOptions options);

  const std::string& name() const override { return options_.name; }
  const Conv1dOptions& options() const { return options_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

 private:
  Conv1dGeometry geometry(std::span<const std::int64_t> lengths) const;
  void declare_params(LayerPlan& plan) const;
  void declare_weight_norm(LayerPlan& plan, const ActivationDecl& input) const;
  Workspace copies(const BackendSizes& sizes, const FramesDecl& x, const FramesDecl& y) const;

  Conv1dOptions options_;
};

}  // namespace penstock::layers
