#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "layers/layer.h"
#include "layers/losses/loss.h"

namespace penstock::layers {

/// The loss at the end of a layer sequence: CTC over the log-softmax of its input, blank 0 (CtcLoss
/// defines it). Its output is empty, and losses go to Context::targets. In training, forward also
/// computes and saves the gradient of the logits.
class Ctc final : public Layer {
 public:
  /// ShapeError unless the smoothing is from 0 to below 1.
  explicit Ctc(std::string name, double smoothing = 0);

  const std::string& name() const override { return name_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;

 private:
  std::string name_;
  double smoothing_;
};

/// Decodes one utterance greedily, by CTC's rule: takes the best label of every frame (the lower
/// one of equals), merges repeats, then drops blanks. Logits may be normalised or not. Arguments
/// and errors are those of a Decoder.
[[nodiscard]] std::vector<std::int32_t> ctc_greedy_labels(std::span<const float> logits_FC,
                                                          std::int64_t channels,
                                                          std::int64_t labels);

/// Returns the decoder that does so.
[[nodiscard]] Decoder ctc_greedy_decoder();

/// Returns the declaration of CTC, with label smoothing in training and evaluation.
[[nodiscard]] Loss ctc_loss(double smoothing = 0);

}  // namespace penstock::layers
