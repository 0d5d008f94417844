#include "runtime/corpus/feature_feed.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/quantities.h"

namespace penstock::runtime {

Augmentation training_augmentation(const Corpus& corpus, const configs::Config& config) {
  return {config.augment, config.trainer.seed, corpus.sounds};
}

FeatureFeed::FeatureFeed(const Corpus& corpus, const configs::FeatureConfig& features, int loaders,
                         std::optional<Augmentation> augmentation)
    : loader_(corpus.audio, features,
              {.threads = loaders, .files = corpus.files, .augmentation = augmentation}) {}

void FeatureFeed::announce(std::int64_t epoch, const std::vector<MicroBatch>& batches) {
  for (const MicroBatch& batch : batches) loader_.push(epoch, batch);
}

// Micro-batches are taken in the order of their announcement, so their number serves the message
// alone.
ReadFeatures FeatureFeed::reader() {
  return [this](int micro_batch, std::span<float> x_FC, std::span<float> weights) {
    const LoadedBatch batch = loader_.take();
    if (batch.x_FC.size() != x_FC.size() || batch.weights.size() != weights.size())
      throw ShapeError(fmt::format("micro-batch {} has {}, expected {}", micro_batch,
                                   counted(batch.x_FC.size(), "feature"), x_FC.size()));
    std::copy(batch.x_FC.begin(), batch.x_FC.end(), x_FC.begin());
    std::copy(batch.weights.begin(), batch.weights.end(), weights.begin());
  };
}

}  // namespace penstock::runtime
