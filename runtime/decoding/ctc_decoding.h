#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layers/losses/loss.h"
#include "runtime/decoding/ctc_beam.h"
#include "runtime/decoding/word_scores.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

/// How the beam search of CTC searches, beside its beam. An empty number is that of CtcBeamOptions,
/// WordScoring or kHotScore.
struct CtcDecoding {
  std::optional<double> label_floor = std::nullopt;
  std::optional<double> score_range = std::nullopt;
  std::filesystem::path lm = {};  // a file for read_ngram_model(); empty: no language model
  std::optional<double> lm_weight = std::nullopt;
  std::optional<double> word_score = std::nullopt;
  std::optional<double> unknown_score = std::nullopt;
  std::filesystem::path hot_words = {};  // a file for read_hot_words(); empty: none
  std::optional<double> hot_score = std::nullopt;

  /// Returns the option of the command line that sets the first one that is set; empty if none is.
  [[nodiscard]] std::string first_option() const;
  /// Returns what of it changes texts, as the end of an identity, with hashes of its files. Options
  /// left out count with their defaults. ConfigError if a file can't be read.
  [[nodiscard]] std::string identity() const;
};

/// Makes decoders that search for texts of CTC. They share the language model and its words.
class CtcBeamDecoders {
 public:
  /// They search with `beam` texts. The logits of CTC begin at channel `first` of what they are
  /// given. `tokenizer` must outlive them. ConfigError as of CtcBeam, read_ngram_model() and
  /// read_hot_words(), if a number is given without the file for which it is, or if no label has
  /// the space that words need.
  CtcBeamDecoders(const Tokenizer& tokenizer, int beam, const CtcDecoding& decoding,
                  std::int64_t first = 0);

  /// Returns the weights of words as `decoding` has them.
  const WordScoring& scoring() const { return scoring_; }
  [[nodiscard]] layers::Decoder decoder() const { return decoder(scoring_); }
  /// Returns a decoder that weighs words otherwise.
  [[nodiscard]] layers::Decoder decoder(const WordScoring& scoring) const {
    return decoder(scoring, first_);
  }
  /// Returns a decoder for the logits of CTC alone, whatever `first` is.
  [[nodiscard]] layers::Decoder decoder_of_logits() const { return decoder(scoring_, 0); }

 private:
  layers::Decoder decoder(const WordScoring& scoring, std::int64_t first) const;

  const Tokenizer& tokenizer_;
  CtcBeamOptions options_;
  WordScoring scoring_;
  std::vector<std::string> texts_;  // of the labels
  std::shared_ptr<const WordScores> scores_;
  std::int64_t first_;
};

}  // namespace penstock::runtime
