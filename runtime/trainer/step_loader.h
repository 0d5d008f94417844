#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/corpus/corpus_work.h"
#include "runtime/corpus/feature_feed.h"
#include "runtime/pipeline/session.h"

namespace penstock::runtime {

/// This replica's share of the steps of a corpus: the work of its stage and, on the first stage,
/// the features, which threads prepare ahead.
class StepLoader {
 public:
  /// All ranks construct one. `corpus` and `session` must outlive it.
  StepLoader(const Corpus& corpus, const configs::Config& config, const partition::Plan& plan,
             Session& session);

  /// Returns this rank's work for a step.
  StepWork work(const StepBatches& batches) const;

  /// True if this rank reads features. On other ranks the functions below do nothing.
  bool reads() const { return feed_ != nullptr; }
  /// Announces that the step's micro-batches will be read after those announced before.
  void announce(const StepBatches& batches);
  ReadFeatures reader();

  /// Returns a function that counts the failed utterances so far. It is empty if this rank reads
  /// none.
  std::function<std::int64_t()> failed() const;
  /// Returns the failed utterances of the current epoch.
  std::vector<FailedUtterance> failures() const;

 private:
  const Corpus& corpus_;
  Session& session_;
  std::uint64_t seed_;
  LaneShare lanes_;
  std::unique_ptr<FeatureFeed> feed_;
};

}  // namespace penstock::runtime
