#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/trainer/evaluation.h"
#include "runtime/trainer/told_utterances.h"

namespace penstock::runtime {

/// Inputs of the last layer for some utterances.
struct ScoredInputs {
  std::span<const std::uint64_t> ids;               // in the corpus
  const std::vector<std::span<const float>>& x_FC;  // frames × channels of each
  std::int64_t channels = 0;
};

/// Counts the errors of a text and of its alternatives, and keeps the normalised reference if the
/// options say so. Nothing is counted where words of references are timed: the time would grow with
/// the square of the text.
void compare(Recognised& heard, const std::string& reference, const EvaluationOptions& options);

/// Decodes and scores utterances of a corpus, on a rank of the last stage. Its arguments must
/// outlive it.
class UtteranceScorer {
 public:
  UtteranceScorer(const Corpus& corpus, const Tokenizer& tokenizer,
                  const EvaluationOptions& options)
      : corpus_(corpus), tokenizer_(tokenizer), options_(options) {}

  /// Decodes by options.decoder.
  void decode(const ScoredInputs& inputs);
  /// Takes texts that the decoder wrote. Its classes that are no labels mean nothing in text.
  void take(std::span<const std::uint64_t> ids, std::vector<TextGeneration::Texts> written);
  void tell_failures(const std::vector<FailedUtterance>& failures);

  const ToldUtterances& told() const { return told_; }

 private:
  std::vector<TimedWord> timed(std::uint64_t id, std::span<const float> x_FC, std::int64_t channels,
                               const std::vector<std::int32_t>& heard) const;
  std::vector<std::vector<ErrorCount>> count_alternatives(const ScoredInputs& inputs) const;
  void tell(std::uint64_t id, const std::vector<layers::Hypothesis>& found, Recognised heard = {});

  const Corpus& corpus_;
  const Tokenizer& tokenizer_;
  const EvaluationOptions& options_;
  ToldUtterances told_;
};

}  // namespace penstock::runtime
