#include "tools/reports/recognition_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "base/table.h"
#include "tools/cli/terminal.h"
#include "tools/reports/timed_report.h"

// Rates are not averaged over manifests or values: edits and words are summed and divided once, so
// that long tests count for what they are. Every table and object comes from such a tally.

namespace penstock::tools {
namespace {

using Rows = std::vector<std::vector<std::string>>;

/// Returns the word error rate of an oracle.
double oracle_wer(const runtime::ErrorTally& tally) {
  return runtime::EditCount{tally.oracle_word_edits, tally.errors.words.reference}.rate();
}

/// Returns a row of a table: a manifest or a value of a field, with counts and rates.
std::vector<std::string> row_of(const std::string& name, const runtime::ErrorTally& tally,
                                int nbest) {
  const runtime::EvaluationReport r = runtime::report_of(tally);
  std::vector<std::string> row = {name,
                                  fmt::format("{}", r.utterances),
                                  fmt::format("{}", r.skipped),
                                  fmt::format("{}", r.words),
                                  fmt::format("{:.2f} %", 100 * r.wer),
                                  fmt::format("{:.2f} %", 100 * r.cer)};
  if (nbest > 0) row.push_back(fmt::format("{:.2f} %", 100 * oracle_wer(tally)));
  return row;
}

Rows rows_headed(const std::string& name, int nbest) {
  Rows rows = {{name, "utterances", "left out", "words", "WER", "CER"}};
  if (nbest > 0) rows.front().push_back("oracle WER");
  return rows;
}

void add_oracle(nlohmann::ordered_json& json, const runtime::ErrorTally& tally, int nbest) {
  if (nbest == 0) return;
  json["nbest"] = nbest;
  json["oracle_wer"] = oracle_wer(tally);
  json["oracle_word_edits"] = tally.oracle_word_edits;
}

/// Adds what a beam search found, to a line of JSON.
void add_scores(nlohmann::ordered_json& line, std::optional<double> score,
                const std::vector<runtime::ScoredText>& nbest) {
  if (score) line["score"] = *score;
  for (const auto& [text, of_text] : nbest)
    line["nbest"].push_back({{"text", text}, {"score", of_text}});
}

/// Returns the rates and the counts from which they follow, so that readers can sum up objects.
nlohmann::ordered_json counts_json(const runtime::ErrorTally& tally, int nbest) {
  const runtime::EvaluationReport r = runtime::report_of(tally);
  nlohmann::ordered_json json{{"wer", r.wer},
                              {"cer", r.cer},
                              {"utterances", r.utterances},
                              {"skipped_utterances", r.skipped},
                              {"word_edits", r.word_edits},
                              {"words", r.words},
                              {"character_edits", r.character_edits},
                              {"characters", r.characters}};
  add_oracle(json, tally, nbest);
  return json;
}

/// Returns the mean loss, or null if some utterances were heard in parts and have none.
nlohmann::ordered_json loss_json(const runtime::ErrorTally& tally) {
  return tally.in_parts == 0 ? nlohmann::ordered_json(runtime::report_of(tally).loss) : nullptr;
}

}  // namespace

std::string evaluation_text(const EvaluationOutcome& outcome) {
  const auto& [test, totals, seconds, nbest] = outcome;
  const runtime::ErrorTally sum = runtime::sum_of(totals);
  const runtime::EvaluationReport r = runtime::report_of(sum);
  std::string text = fmt::format("{} after step {}: WER {:.2f} % ({} of {}), CER {:.2f} %{}\n",
                                 counted(r.utterances, "utterance"), totals.step, 100 * r.wer,
                                 r.word_edits, counted(r.words, "word"), 100 * r.cer,
                                 sum.in_parts == 0 ? fmt::format(", loss {:.3f}", r.loss) : "");
  if (nbest > 0)
    text +=
        fmt::format("an oracle's choice of {}: WER {:.2f} % ({} of {})\n", counted(nbest, "text"),
                    100 * oracle_wer(sum), r.oracle_word_edits, counted(r.words, "word"));
  if (r.skipped > 0) text += fmt::format("{} left out\n", counted(r.skipped, "utterance"));
  if (test.manifests.size() > 1) {
    Rows rows = rows_headed("manifest", nbest);
    for (std::size_t m = 0; m < test.manifests.size(); ++m)
      rows.push_back(row_of(test.manifests[m], totals.manifests.at(m), nbest));
    text += '\n' + table_text(rows, output_columns());
  }
  for (std::size_t f = 0; f < test.by.size(); ++f) {
    Rows rows = rows_headed(test.by[f], nbest);
    for (const auto& [value, tally] : totals.by.at(f)) rows.push_back(row_of(value, tally, nbest));
    text += '\n' + table_text(rows, output_columns());
  }
  return text;
}

std::string evaluation_json(const EvaluationOutcome& outcome) {
  const auto& [test, totals, seconds, nbest] = outcome;
  const runtime::ErrorTally sum = runtime::sum_of(totals);
  const runtime::EvaluationReport r = runtime::report_of(sum);
  nlohmann::ordered_json json{{"wer", r.wer},
                              {"cer", r.cer},
                              {"utterances", r.utterances},
                              {"skipped_utterances", r.skipped},
                              {"loss", loss_json(sum)},
                              {"word_edits", r.word_edits},
                              {"words", r.words},
                              {"character_edits", r.character_edits},
                              {"characters", r.characters},
                              {"step", totals.step},
                              {"audio_seconds", r.audio_seconds},
                              {"seconds", seconds}};
  add_oracle(json, sum, nbest);
  if (test.manifests.size() > 1) {
    auto manifests = nlohmann::ordered_json::array();
    for (std::size_t m = 0; m < test.manifests.size(); ++m) {
      const runtime::ErrorTally& tally = totals.manifests.at(m);
      nlohmann::ordered_json of_manifest{{"manifest", test.manifests[m]}};
      of_manifest.update(counts_json(tally, nbest));
      of_manifest["loss"] = loss_json(tally);
      of_manifest["audio_seconds"] = tally.audio_seconds;
      manifests.push_back(of_manifest);
    }
    json["manifests"] = manifests;
  }
  for (std::size_t f = 0; f < test.by.size(); ++f)
    for (const auto& [value, tally] : totals.by.at(f))
      json["by"][test.by[f]][value] = counts_json(tally, nbest);
  return json_line(json);
}

// A line has a text or an error, never both: an empty text is what was recognised.
std::string transcript_line(const runtime::Transcript& transcript) {
  nlohmann::ordered_json line{{"audio_filepath", transcript.recording.audio.string()}};
  if (transcript.recording.segment) line["offset"] = transcript.recording.segment->offset;
  if (transcript.seconds > 0) line["duration"] = transcript.seconds;
  if (transcript.fault.empty()) {
    line["text"] = transcript.text;
    add_scores(line, transcript.score, transcript.nbest);
    if (transcript.words) add_words(line, *transcript.words);
  } else {
    line["error"] = transcript.fault;
  }
  return json_line(line);
}

// The recording is named as in a manifest: by audio_filepath, offset and duration.
std::string judged_line(const runtime::JudgedUtterance& utterance, const runtime::TestSet& test) {
  const runtime::AudioSource& source = utterance.source;
  nlohmann::ordered_json line;
  if (test.manifests.size() > 1) line["manifest"] = test.manifests.at(utterance.manifest);
  line["audio_filepath"] = source.audio.string();
  if (source.first) line["offset"] = static_cast<double>(*source.first) / source.length.rate;
  line["duration"] = source.length.seconds();
  nlohmann::ordered_json values;
  for (std::size_t f = 0; f < utterance.values.size(); ++f)
    values[test.by.at(f)] = utterance.values[f];
  if (!values.empty()) line["by"] = values;
  const runtime::Recognised& r = utterance.recognised;
  if (!r.fault.empty()) {
    line["error"] = r.fault;
    return json_line(line);
  }
  line["reference"] = r.reference;
  line["hypothesis"] = r.text;
  add_scores(line, r.score, r.nbest);
  line["word_edits"] = r.errors.words.edits;
  line["words"] = r.errors.words.reference;
  line["character_edits"] = r.errors.characters.edits;
  line["characters"] = r.errors.characters.reference;
  return json_line(line);
}

}  // namespace penstock::tools
