#pragma once

#include <cstdint>
#include <vector>

#include "runtime/data/batch/steps.h"

namespace penstock::runtime {

/// Maxima over micro-batches. Each number is the maximum by itself, so they may stem from different
/// micro-batches.
struct MicroBatchExtent {
  std::int64_t utterances = 0;
  std::int64_t frames = 0;   // feature frames of all utterances together
  std::int64_t longest = 0;  // frames of one utterance
  std::int64_t labels = 0;   // labels of one utterance

  void cover(const MicroBatch& batch);
  auto operator<=>(const MicroBatchExtent&) const = default;
};

/// The work that passes through the stages in one step or one evaluation.
struct WorkExtent {
  int micro_batches = 0;
  MicroBatchExtent micro_batch;
  bool operator==(const WorkExtent&) const = default;
};

/// Returns the extent of batches of utterances with at most `labels` labels each.
[[nodiscard]] WorkExtent extent_of(const std::vector<MicroBatch>& batches, std::int64_t labels);

/// Bounds the extent of any step in any epoch without forming an epoch. It takes the longest
/// utterances at the slowest speed, the shortest at the fastest, data.micro_batch_seconds,
/// micro_batch_utterances, and the most labels of any utterance.
[[nodiscard]] WorkExtent greatest_extent(const StepSequenceOptions& options);

/// Returns the extent of the steps from the sequence's start up to, but without, step `steps`.
/// Every epoch samples speeds and groups afresh, so all these steps are examined. If one comes
/// within a hundredth of the bound, or there are very many, greatest_extent() is returned instead.
[[nodiscard]] WorkExtent extent_of(const StepSequence& sequence, std::int64_t steps);

}  // namespace penstock::runtime
