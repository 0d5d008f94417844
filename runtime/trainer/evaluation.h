#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/corpus/corpus.h"
#include "runtime/pipeline/session.h"
#include "runtime/text/error_rate.h"
#include "runtime/text/tokenizer.h"
#include "runtime/trainer/report.h"

namespace penstock::runtime {

struct EvaluationOptions {
  configs::FeatureConfig features = {};
  configs::DataConfig data = {};
  int threads = 1;          // of a rank that compute
  bool references = false;  // Recognised::reference is wanted
  /// Takes an utterance's logits, frames × classes, on the rank that computes them; empty: nobody
  /// wants them.
  std::function<void(std::uint64_t id, std::span<const float> logits_FC, std::int64_t classes)>
      logits = {};
};

/// What becomes of an utterance.
struct Recognised {
  std::string text;
  std::string reference;  // normalised
  ErrorCount errors;      // where the corpus has labels
  std::string fault;      // why its audio could not be read; it then counts in no rate
};

/// What recognition makes of a corpus.
struct Evaluation {
  EvaluationReport report;                // whole on every rank; failed recordings are skipped ones
  double loss_sum = 0;                    // of all utterances, on every rank
  std::vector<Recognised> utterances;     // by id; on rank 0 only
  std::vector<FailedUtterance> failures;  // of the recordings that this rank read
};

/// Passes a corpus through the stages of a session, forward only, its micro-batches dealt to the
/// replicas; decodes greedily; scores where the corpus has labels. Micro-batches, and so every bit
/// of the results, follow from the lengths alone. All ranks call it.
[[nodiscard]] Evaluation evaluate(Session& session, const Corpus& corpus,
                                  const Tokenizer& tokenizer, const EvaluationOptions& options);

}  // namespace penstock::runtime
