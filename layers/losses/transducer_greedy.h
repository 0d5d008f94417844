#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layers/losses/transducer_step.h"

namespace penstock::layers {

/// Decodes utterances greedily with the prediction and joint networks of a Transducer, in host
/// memory and FP32. At each step it takes the best token (the lower one of equals) and, of a TDT,
/// the best duration:
///   RNN-T   a label is written, and the frame stays; a blank leads to the next frame
///   TDT     a label is written, or a blank is not; either leads on by the duration, but a blank of
///           duration 0 by one frame
/// After kMaxLabelsAtFrame labels at one frame, the next frame follows, as in NeMo. transformers
/// does that for RNN-T alone, and takes a duration's place in the list for its frames. The
/// prediction network runs once for each label.
class TransducerGreedy {
 public:
  /// Parameters and errors are those of TransducerStep.
  TransducerGreedy(const TransducerOptions& options, std::span<const Tensor> params)
      : networks_(options, params) {}

  /// Returns the labels of one utterance without blanks. `encoded_TJ` is the input of the layer.
  /// ShapeError if it is no whole number of frames.
  [[nodiscard]] std::vector<std::int32_t> labels(std::span<const float> encoded_TJ) const;

 private:
  TransducerStep networks_;
};

}  // namespace penstock::layers
