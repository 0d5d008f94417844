#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layers/losses/hypothesis.h"
#include "layers/losses/transducer_step.h"

namespace penstock::layers {

struct TransducerBeamOptions {
  int beam = 4;            // hypotheses that are kept, from 1
  bool score_norm = true;  // score the results by log-probability / (labels + 1)
  int max_labels_at_frame = kMaxLabelsAtFrame;
};

/// Decodes utterances by a time-synchronous beam search over the prediction and joint networks of a
/// Transducer, in host memory and FP32; log-probabilities add up in FP64. Paths step on as in
/// TransducerGreedy: an RNN-T's label stays at its frame, a TDT's token leads on by its duration,
/// a blank by one frame at least, and so does the last of max_labels_at_frame labels. A path ends
/// when it leaves the last frame.
///
/// Paths with equal labels at the same frame are one hypothesis, whose probability is their sum.
/// That is why a beam of 1 is not greedy decoding, which follows one path. A beam that holds all
/// texts gives their exact probabilities, which add up to 1.
///
/// With score_norm, which is the default of NeMo, ESPnet and torchaudio, the best of the texts that
/// are left is the one with the largest log-probability for each label and the text's start: sums
/// favour short texts. The search itself compares probabilities.
class TransducerBeam {
 public:
  /// Parameters are those of TransducerStep, as are its errors. ConfigError for a beam or a number
  /// of labels below 1.
  TransducerBeam(const TransducerOptions& options, std::span<const Tensor> params,
                 const TransducerBeamOptions& search);

  /// Returns the texts of one utterance that are left at its end, the best first: at least one, and
  /// `beam` at most. Their scores are log-probabilities of all their paths that were searched, with
  /// score_norm divided by labels + 1. Of equals, the one with lower labels is first. ShapeError if
  /// the input of the layer, `encoded_TJ`, is no whole number of frames.
  [[nodiscard]] std::vector<Hypothesis> hypotheses(std::span<const float> encoded_TJ) const;

 private:
  TransducerStep networks_;
  TransducerBeamOptions search_;
};

}  // namespace penstock::layers
