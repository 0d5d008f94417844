#pragma once

#include <cstdint>
#include <string>

#include "layers/layer.h"

namespace penstock::layers {

struct IntermediateCtcOptions {
  std::string name;
  std::int64_t classes = 0;  // channels of its input, blank included
  /// Channels of the output, which is zeros then. 0: the output is the posteriors of the classes.
  std::int64_t zeros = 0;
  double weight = 1;  // factor of the loss
};

/// A CTC loss in the middle of an encoder (Lee & Watanabe 2021): the last part, or the last but
/// one, of a residual unit whose parts before it make logits of labels. In training, forward
/// computes the loss, and backward_input adds its gradient to what comes back. So the loss needs
/// labels at the stage that has the unit, and no message. In evaluation there is no loss.
///
/// Its output is either zeros, with which the unit passes its input on as it is, or the posteriors
/// of the labels, softmax(logits). A unit that projects these to its width and adds them conditions
/// the later blocks on what the earlier ones heard: self-conditioned CTC (Nozaki & Komatsu 2021).
class IntermediateCtc final : public Layer {
 public:
  /// ShapeError unless there are 2 classes or more, and the weight is at least 0.
  explicit IntermediateCtc(IntermediateCtcOptions options);

  const std::string& name() const override { return options_.name; }
  const IntermediateCtcOptions& options() const { return options_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;

 private:
  bool conditions() const { return options_.zeros == 0; }

  IntermediateCtcOptions options_;
};

}  // namespace penstock::layers
