#pragma once

#include <string>
#include <vector>

#include "runtime/corpus/corpus.h"
#include "runtime/pipeline/session.h"
#include "runtime/text/tokenizer.h"
#include "runtime/trainer/report.h"

namespace penstock::runtime {

struct EvaluationOptions {
  configs::FeatureConfig features;
  configs::DataConfig data;
};

/// What recognition makes of a corpus. The report is whole on every rank.
struct Evaluation {
  EvaluationReport report;
  std::vector<std::string> transcripts;  // by utterance; on rank 0 only
};

/// Passes a corpus through the stages of a session, forward only, its micro-batches dealt to the
/// replicas; decodes greedily; scores where the corpus has labels. Recordings that fail are counted
/// among the skipped; DataError by rank 0 if more do than data.failing_utterances. All ranks call
/// it.
[[nodiscard]] Evaluation evaluate(Session& session, const Corpus& corpus,
                                  const Tokenizer& tokenizer, const EvaluationOptions& options);

}  // namespace penstock::runtime
