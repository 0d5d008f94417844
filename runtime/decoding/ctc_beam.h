#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "layers/losses/hypothesis.h"
#include "runtime/decoding/word_scores.h"

namespace penstock::runtime {

struct CtcBeamOptions {
  int beam = 100;  // texts that are kept after a frame, from 1
  /// Labels of a frame with a lower log-probability are left out; the likeliest one never is.
  double label_floor = -5;
  /// A text goes if its score is lower than the best one's by more than this.
  double score_range = 10;
};

/// Searches for the best texts of a CTC model: those of the largest probability, which is a sum
/// over all paths, or of the largest score, to which their words add. Arithmetic is in FP64
/// logarithms.
class CtcBeam {
 public:
  /// Writes labels as a text.
  using Writer = std::function<std::string(std::span<const std::int32_t>)>;

  /// `texts` has what each label adds to a text, the blank first: Label::text. Results that `write`
  /// writes alike are one. `scores` may be empty. ConfigError for a beam below 1, a floor above 0
  /// or a negative range.
  CtcBeam(const CtcBeamOptions& options, std::vector<std::string> texts, Writer write,
          std::shared_ptr<const WordScores> scores = nullptr);

  /// Returns the texts of one utterance, the best first: at least one, and `beam` at most. A score
  /// is the log-probability of all paths to the text that were searched, plus its words' score. Of
  /// equals, the one with lower labels is first. `logits_FC` has `channels` a frame; softmax makes
  /// them probabilities. A frame without a finite logit is a blank. ShapeError as of a Decoder, or
  /// if there are other labels than texts. May be called by several threads at once.
  [[nodiscard]] std::vector<layers::Hypothesis> hypotheses(std::span<const float> logits_FC,
                                                           std::int64_t channels,
                                                           std::int64_t labels) const;

 private:
  CtcBeamOptions options_;
  std::vector<std::string> texts_;
  Writer write_;
  std::shared_ptr<const WordScores> scores_;
};

}  // namespace penstock::runtime
