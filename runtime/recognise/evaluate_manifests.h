#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "runtime/corpus/corpus_window.h"
#include "runtime/recognise/evaluation_totals.h"
#include "runtime/recognise/recognise.h"

namespace penstock::runtime {

/// The test data of an evaluation and how to count on it.
struct TestSet {
  std::vector<std::string> manifests;
  /// True: unusable utterances are skipped and counted. False: they are an error. Empty: the
  /// checkpoint's data.bad_utterances decides.
  std::optional<bool> skip_bad = {};
  std::vector<std::string> by = {};  // fields of manifest lines; errors are also counted per value
  WindowBounds window = {};
};

struct JudgedUtterance {
  std::size_t manifest = 0;
  AudioSource source;
  Recognised recognised;
  std::vector<std::string> values;  // one per field of TestSet::by
};

/// Callbacks on rank 0, which receive results as they arrive.
struct EvaluationObserver {
  /// Called before the first utterance. Returns the totals of an earlier, unfinished evaluation, if
  /// there is one. `identity` is equal for equal checkpoints, manifests and fields.
  std::function<std::optional<EvaluationTotals>(const std::string& identity)> begin = {};
  /// Called after each window with its utterances, in order, and with the totals so far.
  std::function<void(std::span<const JudgedUtterance>, const EvaluationTotals&)> take = {};
};

/// Loads one of the manifests, with the checkpoint's labels. All ranks call it. DataError as from
/// load_corpus().
[[nodiscard]] Corpus load_test_corpus(const Recogniser& recogniser, const TestSet& test,
                                      const std::string& manifest);

/// Throws ConfigError if a manifest or a field is empty or named twice.
void check_named(const TestSet& test);

/// Evaluates a checkpoint on manifests, window by window, and returns loss and error rates. The
/// results are the same on any number of ranks. All ranks call it. The manifests' tallies are
/// complete on every rank, the tallies per value on rank 0. CheckpointError and ConfigError as from
/// Recogniser; ConfigError also if a manifest's name is empty or given twice. DataError as from
/// load_corpus and require_fields. Rank 0 also throws it if more recordings of a manifest fail than
/// data.failing_utterances allows.
EvaluationTotals evaluate_checkpoint(const Trained& trained, const TestSet& test,
                                     comm::Communicator& world,
                                     const EvaluationObserver& observer = {});

}  // namespace penstock::runtime
