#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/trainer/evaluation.h"

namespace penstock::runtime {

/// A range of the samples of a corpus' recording.
struct RecordingPart {
  std::uint64_t recording = 0;
  SampleRange samples = {};
};

/// Returns parts of recordings as a corpus without texts.
[[nodiscard]] Corpus corpus_of_parts(const Corpus& corpus, const std::vector<RecordingPart>& parts);

/// Returns the failures of parts as those of their recordings, one for each. `recordings` has the
/// recording of each part.
[[nodiscard]] std::vector<FailedUtterance> failures_of_recordings(
    const std::vector<FailedUtterance>& parts, const std::vector<std::uint64_t>& recordings);

/// How a corpus is evaluated of which some recordings are too long to be heard at once.
struct PartedEvaluation {
  Session& session;
  const Tokenizer& tokenizer;
  const EvaluationOptions& options;  // for recordings that are not cut
  std::function<bool(const AudioLength&)> cuts;
  /// Evaluates the other ones. Adds results on rank 0, by id, and failures on the rank that has
  /// them.
  std::function<void(const std::vector<std::uint64_t>& recordings, Evaluation& all)> evaluate_long;
};

/// Evaluates recordings that are not cut by runtime::evaluate(), the others by `evaluate_long`, and
/// counts them together. The loss is that of the recordings that are not cut, the others count in
/// Evaluation::in_parts. All ranks call it, with a corpus that is not empty.
[[nodiscard]] Evaluation evaluate_parts(const Corpus& corpus, const PartedEvaluation& how);

}  // namespace penstock::runtime
