#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/corpus/corpus_work.h"
#include "runtime/corpus/feature_feed.h"
#include "runtime/pipeline/session.h"

namespace penstock::runtime {

/// This replica's share of the steps of a corpus: what its stage computes and, on the first stage,
/// the features that it reads, which threads make ahead.
class StepLoader {
 public:
  /// All ranks make theirs. `corpus` and `session` must outlive it.
  StepLoader(const Corpus& corpus, const configs::Config& config, const partition::Plan& plan,
             Session& session);

  /// What this rank has to do of a step.
  StepWork work(const StepBatches& batches) const;

  /// Whether this rank reads features; the others' functions below do nothing.
  bool reads() const { return feed_ != nullptr; }
  /// The step's micro-batches will be read behind those announced before.
  void announce(const StepBatches& batches);
  ReadFeatures reader();

  /// Utterances that have failed so far; empty where none are read.
  std::function<std::int64_t()> failed() const;
  /// Those of the epoch under way.
  std::vector<FailedUtterance> failures() const;

 private:
  const Corpus& corpus_;
  Session& session_;
  std::uint64_t seed_;
  LaneShare lanes_;
  std::unique_ptr<FeatureFeed> feed_;
};

}  // namespace penstock::runtime
