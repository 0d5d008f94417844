#include "runtime/recognise/evaluation_totals.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

// Totals are sums of counts, and never rates, so that they can be added over windows, manifests and
// interrupted runs. As JSON they go from rank 0 to the others, and into the file from which an
// evaluation goes on.

namespace penstock::runtime {

// nlohmann-json finds these by argument-dependent lookup.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EditCount, edits, reference)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ErrorCount, words, characters)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ErrorTally, utterances, skipped, errors,
                                                oracle_word_edits, loss, in_parts, audio_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EvaluationTotals, step, manifests, by, done)

ErrorTally& ErrorTally::operator+=(const ErrorTally& other) {
  utterances += other.utterances;
  skipped += other.skipped;
  errors += other.errors;
  oracle_word_edits += other.oracle_word_edits;
  loss += other.loss;
  in_parts += other.in_parts;
  audio_seconds += other.audio_seconds;
  return *this;
}

ErrorTally tally_of(const Recognised& utterance) {
  if (!utterance.fault.empty()) return {.skipped = 1};
  return {.utterances = 1,
          .errors = utterance.errors,
          .oracle_word_edits = utterance.oracle_word_edits};
}

ErrorTally tally_of(const Evaluation& evaluation) {
  const EvaluationReport& report = evaluation.report;
  return {.utterances = report.utterances,
          .skipped = report.skipped,
          .errors = {.words = {report.word_edits, report.words},
                     .characters = {report.character_edits, report.characters}},
          .oracle_word_edits = report.oracle_word_edits,
          .loss = evaluation.loss_sum,
          .in_parts = evaluation.in_parts,
          .audio_seconds = report.audio_seconds};
}

EvaluationReport report_of(const ErrorTally& tally) {
  EvaluationReport report;
  report.utterances = tally.utterances;
  report.skipped = tally.skipped;
  report.loss = tally.loss / static_cast<double>(std::max<std::int64_t>(tally.utterances, 1));
  report.wer = tally.errors.words.rate();
  report.cer = tally.errors.characters.rate();
  report.word_edits = tally.errors.words.edits;
  report.words = tally.errors.words.reference;
  report.character_edits = tally.errors.characters.edits;
  report.characters = tally.errors.characters.reference;
  report.oracle_word_edits = tally.oracle_word_edits;
  report.audio_seconds = tally.audio_seconds;
  return report;
}

ErrorTally sum_of(const EvaluationTotals& totals) {
  ErrorTally sum;
  for (const ErrorTally& tally : totals.manifests) sum += tally;
  return sum;
}

std::string to_text(const EvaluationTotals& totals) {
  return nlohmann::json(totals).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

EvaluationTotals parse_totals(std::string_view text) try {
  return nlohmann::json::parse(text).get<EvaluationTotals>();
} catch (const nlohmann::json::exception& error) {
  throw DataError(fmt::format("the counts of an evaluation can't be read: {}", error.what()));
}

}  // namespace penstock::runtime
