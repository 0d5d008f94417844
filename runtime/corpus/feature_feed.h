#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/corpus/corpus.h"
#include "runtime/data/audio/loader.h"
#include "runtime/pipeline/step_work.h"

namespace penstock::runtime {

/// Returns how training changes the recordings and features of a corpus. Every rank that reads
/// them, and a preview of what it reads, take this.
[[nodiscard]] Augmentation training_augmentation(const Corpus& corpus,
                                                 const configs::Config& config);

/// Passes the loader's micro-batches to the executor, in the order in which they were announced.
class FeatureFeed {
 public:
  /// Starts `loaders` threads that read. Training may augment what they read.
  FeatureFeed(const Corpus& corpus, const configs::FeatureConfig& features, int loaders,
              std::optional<Augmentation> augmentation = {});

  /// Announces micro-batches that will be read, so that loader threads can run ahead.
  void announce(std::int64_t epoch, const std::vector<MicroBatch>& batches);

  ReadFeatures reader();
  /// Returns how many utterances' audio has been replaced by silence.
  std::int64_t failed() const { return loader_.failed(); }
  /// Returns the failures in the current epoch.
  std::vector<FailedUtterance> failures() const { return loader_.failures(); }

 private:
  FeatureLoader loader_;
};

}  // namespace penstock::runtime
