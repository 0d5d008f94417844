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
#include "runtime/decoding/hot_words.h"
#include "runtime/decoding/ngram_model.h"

namespace penstock::runtime {
namespace {

/// An option of the command line that sets a number. Some are for words of a file alone.
struct NumberOption {
  const char* name = nullptr;
  std::optional<double> number;
  const char* file = nullptr;  // the option that names the file
};

std::vector<NumberOption> options_of(const CtcDecoding& decoding) {
  return {{"--label-floor", decoding.label_floor},
          {"--score-range", decoding.score_range},
          {"--lm-weight", decoding.lm_weight, "--lm"},
          {"--word-score", decoding.word_score, "--lm"},
          {"--unknown-score", decoding.unknown_score, "--lm"},
          {"--hot-score", decoding.hot_score, "--hot-words"}};
}

/// An option of the command line that names a file of words.
struct FileOption {
  std::string name;
  std::filesystem::path file;
};

/// Returns the files that are given.
std::vector<FileOption> word_files(const CtcDecoding& decoding) {
  std::vector<FileOption> files;
  if (!decoding.lm.empty()) files.push_back({"--lm", decoding.lm});
  if (!decoding.hot_words.empty()) files.push_back({"--hot-words", decoding.hot_words});
  return files;
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

/// Returns the scores of words that are asked for; empty if none are.
std::shared_ptr<const WordScores> scores_of(const CtcDecoding& decoding, const Tokenizer& tokenizer,
                                            const std::vector<std::string>& texts) {
  const std::vector<FileOption> files = word_files(decoding);
  for (const auto& [name, number, file] : options_of(decoding))
    if (number && file != nullptr && !std::ranges::count(files, file, &FileOption::name))
      throw ConfigError(
          fmt::format("{} is for {} alone: leave it out, or name a file by {}", name, file, file));
  if (files.empty()) return nullptr;
  if (std::ranges::none_of(
          texts, [](const std::string& text) { return text.find(' ') != std::string::npos; }))
    throw ConfigError(fmt::format(
        "{} {}: the model's labels have no space, so its texts have no words: leave out {}",
        files[0].name, files[0].file.string(),
        files.size() == 1 ? files[0].name : "--lm and --hot-words"));
  HotWords hot;
  if (!decoding.hot_words.empty())
    hot = {read_hot_words(decoding.hot_words, tokenizer), decoding.hot_score.value_or(kHotScore)};
  return std::make_shared<const WordScores>(
      word_scoring(decoding), decoding.lm.empty() ? nullptr : read_ngram_model(decoding.lm),
      std::move(hot));
}

}  // namespace

std::string CtcDecoding::first_option() const {
  if (const auto files = word_files(*this); !files.empty()) return files[0].name;
  for (const auto& [option, number, file] : options_of(*this))
    if (number) return option;
  return {};
}

std::string CtcDecoding::identity() const {
  const CtcBeamOptions options = beam_options(1, *this);
  const WordScoring scoring = word_scoring(*this);
  std::string identity =
      fmt::format(", label floor {}, score range {}", options.label_floor, options.score_range);
  for (const auto& [option, file] : word_files(*this)) try {
      identity += fmt::format(", {} {:016x}", option, hash_of(map_file(file).bytes()));
    } catch (const FileError& error) {
      throw ConfigError(fmt::format("{}: {}", option, error.what()));
    }
  if (!lm.empty())
    identity += fmt::format(", weight {}, word {}, unknown {}", scoring.lm_weight,
                            scoring.word_score, scoring.unknown_score);
  if (!hot_words.empty()) identity += fmt::format(", hot {}", hot_score.value_or(kHotScore));
  return identity;
}

CtcBeamDecoders::CtcBeamDecoders(const Tokenizer& tokenizer, int beam, const CtcDecoding& decoding,
                                 std::int64_t first)
    : tokenizer_(tokenizer),
      options_(beam_options(beam, decoding)),
      scoring_(word_scoring(decoding)),
      first_(first) {
  for (Label& label : tokenizer.vocabulary()) texts_.push_back(std::move(label.text));
  scores_ = scores_of(decoding, tokenizer, texts_);
}

layers::Decoder CtcBeamDecoders::decoder(const WordScoring& scoring, std::int64_t first) const {
  const auto write = [&tokenizer = tokenizer_](std::span<const std::int32_t> labels) {
    return tokenizer.decode(labels);
  };
  auto scores = scores_ ? std::make_shared<const WordScores>(scores_->reweighed(scoring)) : nullptr;
  return [search = std::make_shared<const CtcBeam>(options_, texts_, write, std::move(scores)),
          first](std::span<const float> x_FC, std::int64_t channels, std::int64_t labels) {
    if (first == 0) return search->hypotheses(x_FC, channels, labels);
    return search->hypotheses(columns_from(x_FC, channels, first), channels - first, labels);
  };
}

}  // namespace penstock::runtime
