#include "runtime/decoding/ctc_decoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file_handle.h"
#include "base/mapped_file.h"
#include "runtime/data/index/stream_hash.h"
#include "runtime/decoding/ctc_columns.h"
#include "runtime/decoding/ngram_model.h"

namespace penstock::runtime {
namespace {

struct NumberOption {
  const char* name = nullptr;
  std::optional<double> number;
  bool of_model = false;  // for a language model alone
};

/// Returns the options of the command line that set numbers.
std::vector<NumberOption> options_of(const CtcDecoding& decoding) {
  return {{"--label-floor", decoding.label_floor},
          {"--score-range", decoding.score_range},
          {"--lm-weight", decoding.lm_weight, true},
          {"--word-score", decoding.word_score, true},
          {"--unknown-score", decoding.unknown_score, true}};
}

CtcBeamOptions beam_options(int beam, const CtcDecoding& decoding) {
  CtcBeamOptions options{.beam = beam};
  options.label_floor = decoding.label_floor.value_or(options.label_floor);
  options.score_range = decoding.score_range.value_or(options.score_range);
  return options;
}

WordScoring word_scoring(const CtcDecoding& decoding) {
  WordScoring scoring;
  scoring.lm_weight = decoding.lm_weight.value_or(scoring.lm_weight);
  scoring.word_score = decoding.word_score.value_or(scoring.word_score);
  scoring.unknown_score = decoding.unknown_score.value_or(scoring.unknown_score);
  return scoring;
}

/// Returns the scores of the language model that is asked for; empty if none is.
std::shared_ptr<const WordScores> scores_of(const CtcDecoding& decoding,
                                            const std::vector<std::string>& texts) {
  if (decoding.lm.empty()) {
    for (const auto& [name, number, of_model] : options_of(decoding))
      if (of_model && number)
        throw ConfigError(
            fmt::format("{} is for a language model: leave it out, or name one by --lm", name));
    return nullptr;
  }
  if (std::ranges::none_of(
          texts, [](const std::string& text) { return text.find(' ') != std::string::npos; }))
    throw ConfigError(fmt::format(
        "--lm {}: the model's labels have no space, so its texts have no words: leave out --lm",
        decoding.lm.string()));
  return std::make_shared<const WordScores>(word_scoring(decoding), read_ngram_model(decoding.lm));
}

}  // namespace

std::string CtcDecoding::first_option() const {
  if (!lm.empty()) return "--lm";
  for (const auto& [option, number, of_model] : options_of(*this))
    if (number) return option;
  return {};
}

std::string CtcDecoding::identity() const {
  const CtcBeamOptions options = beam_options(1, *this);
  std::string identity =
      fmt::format(", label floor {}, score range {}", options.label_floor, options.score_range);
  if (lm.empty()) return identity;
  const WordScoring scoring = word_scoring(*this);
  try {
    return identity + fmt::format(", LM {:016x}, weight {}, word {}, unknown {}",
                                  hash_of(map_file(lm).bytes()), scoring.lm_weight,
                                  scoring.word_score, scoring.unknown_score);
  } catch (const FileError& error) {
    throw ConfigError(fmt::format("--lm: {}", error.what()));
  }
}

layers::Decoder ctc_beam_decoder(const Tokenizer& tokenizer, int beam, const CtcDecoding& decoding,
                                 std::int64_t first) {
  const CtcBeamOptions options = beam_options(beam, decoding);
  std::vector<std::string> texts;
  for (Label& label : tokenizer.vocabulary()) texts.push_back(std::move(label.text));
  const auto write = [&tokenizer](std::span<const std::int32_t> labels) {
    return tokenizer.decode(labels);
  };
  auto scores = scores_of(decoding, texts);
  return [search =
              std::make_shared<const CtcBeam>(options, std::move(texts), write, std::move(scores)),
          first](std::span<const float> x_FC, std::int64_t channels, std::int64_t labels) {
    if (first == 0) return search->hypotheses(x_FC, channels, labels);
    return search->hypotheses(columns_from(x_FC, channels, first), channels - first, labels);
  };
}

}  // namespace penstock::runtime
