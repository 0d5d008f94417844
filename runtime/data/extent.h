#pragma once

#include <cstdint>
#include <vector>

#include "runtime/data/steps.h"

namespace penstock::runtime {

/// What micro-batches hold at most: each number is of the micro-batch that has most of it.
struct MicroBatchExtent {
  std::int64_t utterances = 0;
  std::int64_t frames = 0;   // of features, of all utterances together
  std::int64_t longest = 0;  // frames of one utterance

  void cover(const MicroBatch& batch);
  auto operator<=>(const MicroBatchExtent&) const = default;
};

/// What passes through the stages at once: in a step, or in an evaluation.
struct WorkExtent {
  int micro_batches = 0;
  MicroBatchExtent micro_batch;
  bool operator==(const WorkExtent&) const = default;
};

[[nodiscard]] WorkExtent extent_of(const std::vector<MicroBatch>& batches);

/// Of any step in any epoch, from bounds alone: the longest utterances at the slowest speed, the
/// shortest at the fastest, and what data.micro_batch_seconds and micro_batch_utterances allow.
[[nodiscard]] WorkExtent greatest_extent(const StepSequenceOptions& options);

/// Of the steps before step `steps`, from the sequence's start on. Every epoch samples speeds and
/// groups anew, so all of them are looked at, unless one comes within a hundredth of the bound or
/// there are very many: then the bound stands for all.
[[nodiscard]] WorkExtent extent_of(const StepSequence& sequence, std::int64_t steps);

}  // namespace penstock::runtime
