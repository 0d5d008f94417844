#pragma once

#include "runtime/recognise/evaluate_parts.h"

namespace penstock::runtime {

/// How recordings are cut into segments, and these heard.
struct SegmentedEvaluation {
  Session& session;
  const Tokenizer& tokenizer;
  const EvaluationOptions& options;
  const CorpusReaders& readers;
  double seconds = 0;  // of the longest segment
};

/// Evaluates a corpus as runtime::evaluate() does, by any decoder, but cuts recordings that are
/// longer than `seconds` where they are quiet, by QuietCuts. Each segment is decoded by itself, and
/// texts and scores are added up. Such a recording has one text and no words with times. Its errors
/// are counted on rank 0. All ranks call it, with a corpus that is not empty.
[[nodiscard]] Evaluation evaluate_segments(const Corpus& corpus, const SegmentedEvaluation& how);

/// True if it cuts recordings of such a length.
[[nodiscard]] bool is_segmented(const AudioLength& length, double seconds);

}  // namespace penstock::runtime
