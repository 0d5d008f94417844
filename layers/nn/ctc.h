#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "layers/layer.h"

namespace penstock::layers {

/// The loss at the end of a layer sequence: CTC over the log-softmax of its input, blank 0 (CtcLoss
/// has the definition). Its output is empty; losses go to Context::targets. Forward makes the
/// gradient of the logits too, in training, and keeps it.
class Ctc final : public Layer {
 public:
  explicit Ctc(std::string name) : name_(std::move(name)) {}

  const std::string& name() const override { return name_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  /// Operations where the number of labels of each utterance is known; plan() takes a share of the
  /// frames for it. ShapeError for another number of utterances.
  static Flops flops(const FramesDecl& x, std::span<const std::int64_t> labels);
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;

 private:
  std::string name_;
};

}  // namespace penstock::layers
