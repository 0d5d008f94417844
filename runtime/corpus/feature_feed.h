#pragma once

#include <memory>
#include <vector>

#include "runtime/corpus/corpus.h"
#include "runtime/data/loader.h"
#include "runtime/pipeline/step_work.h"

namespace penstock::runtime {

/// Hands the loader's micro-batches to the executor, in the order in which they were announced.
class FeatureFeed {
 public:
  /// `loaders` threads read.
  FeatureFeed(const Corpus& corpus, const configs::FeatureConfig& features, int loaders);

  /// Micro-batches that will be read, so that loader threads run ahead.
  void announce(std::int64_t epoch, const std::vector<MicroBatch>& batches);

  ReadFeatures reader();
  /// Utterances whose audio was replaced by silence so far.
  std::int64_t failed() const { return loader_.failed(); }
  /// Those of the epoch under way.
  std::vector<FailedUtterance> failures() const { return loader_.failures(); }

 private:
  FeatureLoader loader_;
};

}  // namespace penstock::runtime
