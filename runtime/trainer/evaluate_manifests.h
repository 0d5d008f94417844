#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "runtime/corpus/corpus_window.h"
#include "runtime/trainer/evaluation_totals.h"
#include "runtime/trainer/recognise.h"

namespace penstock::runtime {

/// What to judge a checkpoint by.
struct TestSet {
  std::vector<std::string> manifests;
  /// Whether utterances that can't be used are left out and counted, or refused. Nothing: as the
  /// checkpoint's data.bad_utterances says.
  std::optional<bool> skip_bad = {};
  std::vector<std::string> by = {};  // fields of manifests' lines, for whose values to count
  WindowBounds window = {};
};

struct JudgedUtterance {
  std::size_t manifest = 0;
  AudioSource source;
  Recognised recognised;
  std::vector<std::string> values;  // of TestSet::by
};

/// What rank 0 does with results as they come.
struct EvaluationObserver {
  /// Before the first utterance: where an earlier run ended, if one did. `identity` is equal for
  /// equal checkpoints, manifests and fields.
  std::function<std::optional<EvaluationTotals>(const std::string& identity)> begin = {};
  /// Behind each window: its utterances, in their order, and what is counted by then.
  std::function<void(std::span<const JudgedUtterance>, const EvaluationTotals&)> take = {};
};

/// Loss and error rates of a checkpoint on manifests, window by window: the same on any number of
/// ranks. All ranks call it. Manifests' tallies are whole on each rank, those of values on rank 0.
/// CheckpointError and ConfigError as Recogniser; ConfigError too if a manifest is named by "" or
/// twice; DataError as load_corpus, as require_fields, and by rank 0 if more recordings of a
/// manifest fail than data.failing_utterances.
EvaluationTotals evaluate_checkpoint(const Trained& trained, const TestSet& test,
                                     comm::Communicator& world,
                                     const EvaluationObserver& observer = {});

}  // namespace penstock::runtime
