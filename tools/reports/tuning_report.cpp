#include "tools/reports/tuning_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/encoded_text.h"
#include "base/quantities.h"
#include "base/table.h"
#include "tools/cli/terminal.h"

namespace penstock::tools {
namespace {

constexpr std::size_t kListed = 8;

std::vector<std::string> row(const runtime::TriedWeights& tried, const std::string& remark) {
  return {fmt::format("{}", tried.scoring.lm_weight), fmt::format("{}", tried.scoring.word_score),
          fmt::format("{:.2f} %", 100 * tried.errors.words.rate()),
          fmt::format("{:.2f} %", 100 * tried.errors.characters.rate()), remark};
}

nlohmann::ordered_json object(const runtime::TriedWeights& tried) {
  return {
      {"lm_weight", tried.scoring.lm_weight},   {"word_score", tried.scoring.word_score},
      {"wer", tried.errors.words.rate()},       {"cer", tried.errors.characters.rate()},
      {"word_edits", tried.errors.words.edits}, {"character_edits", tried.errors.characters.edits}};
}

/// Returns the options of `penstock evaluate` and `transcribe` that decode so.
std::string pasted_options(const TuningOutcome& outcome) {
  const runtime::WordScoring& best = outcome.tuning.tried.at(outcome.tuning.best).scoring;
  const runtime::CtcDecoding& ctc = outcome.trained.ctc;
  std::string options =
      fmt::format("--beam {} --lm {} --lm-weight {} --word-score {}", outcome.trained.decoding.beam,
                  shell_word(ctc.lm.string()), best.lm_weight, best.word_score);
  if (ctc.unknown_score) options += fmt::format(" --unknown-score {}", *ctc.unknown_score);
  if (ctc.label_floor) options += fmt::format(" --label-floor {}", *ctc.label_floor);
  if (ctc.score_range) options += fmt::format(" --score-range {}", *ctc.score_range);
  if (!ctc.hot_words.empty())
    options += fmt::format(" --hot-words {}", shell_word(ctc.hot_words.string()));
  if (ctc.hot_score) options += fmt::format(" --hot-score {}", *ctc.hot_score);
  if (!outcome.trained.decoder.empty()) options += " --decoder " + outcome.trained.decoder;
  return options;
}

/// A weight, and the option that sets its range.
struct RangedWeight {
  double weight;
  runtime::WeightRange range;
  const char* option;
  double least;  // a lower weight makes no sense
};

/// Returns a line if a weight is the first or the last of its range, with a range around it.
std::string advice(const RangedWeight& best) {
  const double width = best.range.high - best.range.low;
  const bool ends = best.weight == best.range.low || best.weight == best.range.high;
  const double low = std::max(best.weight - width / 2, best.least);
  const double high = std::min(best.weight + width / 2, kWeightLimits.high);
  if (!ends || width == 0 || (low >= best.range.low && high <= best.range.high)) return {};
  return output_line(fmt::format("{} lies at the end of its range. Search on with {} {} {}",
                                 best.weight, best.option, low, high));
}

}  // namespace

double decisive_rate(const runtime::TriedWeights& tried, bool by_characters) {
  return by_characters ? tried.errors.characters.rate() : tried.errors.words.rate();
}

std::string tuning_text(const TuningOutcome& outcome) {
  const std::vector<runtime::TriedWeights>& tried = outcome.tuning.tried;
  std::vector<std::size_t> order(tried.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return tried[i].decisive_edits(outcome.search.by_characters);
  });
  TableRows rows = {{"lm-weight", "word-score", "WER", "CER", ""}};
  for (std::size_t i = 0; i < order.size(); ++i)
    if (i < kListed || order[i] == 0)
      rows.push_back(row(tried[order[i]], order[i] == 0 ? "as given" : i == 0 ? "best" : ""));
  const runtime::WordScoring& best = tried[outcome.tuning.best].scoring;
  const std::string left_out =
      outcome.tuning.skipped > 0 ? fmt::format(", {} left out", outcome.tuning.skipped) : "";
  return fmt::format(
      "{}, {} weights tried{}\n{}{}{}{}\n", counted(outcome.tuning.utterances, "utterance"),
      tried.size(), left_out, table_text(rows, output_columns()),
      advice({best.lm_weight, outcome.search.lm_weight, "--lm-weights", 0}),
      advice({best.word_score, outcome.search.word_score, "--word-scores", kWeightLimits.low}),
      pasted_options(outcome));
}

std::string tuning_json(const TuningOutcome& outcome) {
  nlohmann::ordered_json json = {{"utterances", outcome.tuning.utterances},
                                 {"left_out", outcome.tuning.skipped},
                                 {"best", object(outcome.tuning.tried.at(outcome.tuning.best))},
                                 {"given", object(outcome.tuning.tried.front())}};
  for (const runtime::TriedWeights& one : outcome.tuning.tried)
    json["tried"].push_back(object(one));
  return json_line(json);
}

}  // namespace penstock::tools
