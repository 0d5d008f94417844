#pragma once

#include <cstdint>
#include <string>

#include "layers/layer.h"
#include "layers/losses/ctc.h"
#include "layers/losses/token_cross_entropy.h"

namespace penstock::layers {

/// The loss of a decoder that attends to the encoder's output: the cross-entropy of the text, and,
/// with a weight w above 0, CTC of the memory beside it (Kim et al. 2017):
///   loss = (1 - w) · cross-entropy + w · CTC
/// Its input is the memory and the text. With CTC, a layer before it has turned the memory's
/// rows into CTC's logits.
///
/// An utterance's loss has two parts in Targets::losses with CTC: the weighted losses of the text,
/// and after them those of CTC. Parameters are those of TokenCrossEntropy.
class AttentionLoss final : public Layer {
 public:
  /// ShapeError if the options describe no loss, or unless 0 <= ctc_weight < 1.
  AttentionLoss(TokenCrossEntropyOptions options, double ctc_weight);

  const std::string& name() const override { return text_.name(); }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

 private:
  bool beside_ctc() const { return ctc_weight_ > 0; }

  TokenCrossEntropy text_;
  Ctc ctc_;
  double ctc_weight_;
};

}  // namespace penstock::layers
