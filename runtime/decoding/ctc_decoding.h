#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "layers/losses/loss.h"
#include "runtime/decoding/ctc_beam.h"
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

/// Returns the decoder that searches with `beam` texts. The logits of CTC begin at channel `first`
/// of what it is given. `tokenizer` must outlive it. ConfigError as of CtcBeam,
/// read_ngram_model() and read_hot_words(), if a number is given without the file for which it is,
/// or if no label has the space that words need.
[[nodiscard]] layers::Decoder ctc_beam_decoder(const Tokenizer& tokenizer, int beam,
                                               const CtcDecoding& decoding, std::int64_t first = 0);

}  // namespace penstock::runtime
