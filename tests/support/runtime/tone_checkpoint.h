#pragma once

#include <string>
#include <vector>

#include "runtime/recognise/evaluate_manifests.h"
#include "runtime/recognise/transcribe.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::test {

/// How many ranks recognise, as threads, and as how many replicas.
struct RecognitionLayout {
  int ranks = 1, replicas = 1;
};

/// 1 × 1, stages, replicas, both, and more replicas than the seven utterances.
inline const std::vector<RecognitionLayout> kRecognitionLayouts = {{1, 1}, {2, 1}, {2, 2},
                                                                   {4, 2}, {3, 3}, {9, 9}};

/// Holds the results of transcribing a list.
struct Transcribed {
  std::vector<runtime::Transcript> transcripts;
  std::vector<std::size_t> windows;  // their sizes
  runtime::TranscriptionCounts counts;

  std::vector<std::string> texts() const;
  std::vector<std::string> faults() const;
};

/// Holds the results of evaluating manifests.
struct Judged {
  runtime::EvaluationTotals totals;
  std::vector<runtime::Recognised> utterances;
};

/// A folder with a checkpoint, "output", of few steps of a tone recipe, and test.jsonl, seven
/// utterances (test-0.wav, …).
class ToneCheckpoint {
 public:
  explicit ToneCheckpoint(const std::vector<std::string>& overrides = {"trainer.steps=1"});

  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }

  /// Rank 0's. `list` has next for none: those are `recordings`. `trained` has no checkpoint: it is
  /// this one.
  Transcribed transcribe(const std::vector<runtime::Recording>& recordings,
                         const RecognitionLayout& layout = {}, runtime::Transcription list = {},
                         runtime::Trained trained = {}) const;
  Judged evaluate(const runtime::TestSet& test, const RecognitionLayout& layout = {},
                  runtime::Trained trained = {}) const;

 private:
  TemporaryFolder folder_;
};

}  // namespace penstock::test
