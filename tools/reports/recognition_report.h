#pragma once

#include <string>

#include "runtime/recognise/evaluate_manifests.h"
#include "runtime/recognise/transcribe.h"

namespace penstock::tools {

// These functions report what `penstock evaluate` and `penstock transcribe` recognised.

/// The result of `penstock evaluate`.
struct EvaluationOutcome {
  const runtime::TestSet& test;
  const runtime::EvaluationTotals& totals;
  double seconds = 0;  // duration of the evaluation
  int nbest = 0;       // texts that were reported of each utterance; 0: without an oracle
};

/// Returns one line for all utterances, a table of the manifests if there are several, and a table
/// of the values of each field of --by. With nbest they also have the word error rate of an oracle,
/// which chooses the best text of each utterance.
[[nodiscard]] std::string evaluation_text(const EvaluationOutcome& outcome);

/// Returns one JSON object, whose rates are fractions. It has "manifests" if there are several, and
/// "by" if fields were asked for.
[[nodiscard]] std::string evaluation_json(const EvaluationOutcome& outcome);

/// Returns a line of JSON with audio_filepath, offset (for a segment), duration, and text or error.
/// After a beam search it also has score, and nbest (text and score of each) if that was asked for.
/// With times it has words and confidence, as aligned_line().
/// It is also a valid line of a manifest.
[[nodiscard]] std::string transcript_line(const runtime::Transcript& transcript);

/// Returns a line of JSON with audio_filepath, offset (for a segment), duration and by (the values
/// of TestSet::by). Then follow reference, hypothesis, score and nbest as in transcript_line(),
/// word_edits, words, character_edits and characters, or error. If there are several manifests, it
/// also names the utterance's.
[[nodiscard]] std::string judged_line(const runtime::JudgedUtterance& utterance,
                                      const runtime::TestSet& test);

}  // namespace penstock::tools
