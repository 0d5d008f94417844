#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "layers/layer.h"

namespace penstock::layers {

/// The loss at the end of a layer sequence: CTC over the log-softmax of its input, blank 0 (CtcLoss
/// defines it). Its output is empty, and losses go to Context::targets. In training, forward also
/// computes and saves the gradient of the logits.
class Ctc final : public Layer {
 public:
  explicit Ctc(std::string name) : name_(std::move(name)) {}

  const std::string& name() const override { return name_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  /// Returns the operations for known numbers of labels per utterance; plan() assumes a share of
  /// the frames. ShapeError for another number of utterances.
  static Flops flops(const FramesDecl& x, std::span<const std::int64_t> labels);
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;

 private:
  std::string name_;
};

}  // namespace penstock::layers
