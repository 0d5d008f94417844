#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "configs/config.h"
#include "runtime/data/audio/audio_source.h"
#include "runtime/data/audio/features.h"
#include "runtime/data/augment/audio_augment.h"
#include "runtime/data/augment/spec_augment.h"
#include "runtime/data/batch/batching.h"

namespace penstock::runtime {

/// Augmentation says how training changes recordings and features, and the seed of its random
/// numbers.
struct Augmentation {
  configs::AugmentConfig config;
  std::uint64_t seed = 0;
  AugmentSounds sounds = {};
};

/// The changes of one utterance in training, besides its speed.
struct UtteranceEffects {
  AudioEffects audio = {};
  FeatureEffects features = {};
};

/// Makes the features of utterances: reads, resamples, augments, extracts. Not thread-safe.
class UtteranceMaker {
 public:
  /// Throws ConfigError like FeatureExtractor.
  UtteranceMaker(const configs::FeatureConfig& features,
                 const std::optional<Augmentation>& augmentation);

  /// Fills x_FC with the features of one utterance in an epoch. Its audio lies in `file` on this
  /// machine. Throws DataError if it differs from the index, or if what augments it can't be read.
  void make(const AudioSource& source, const std::filesystem::path& file, std::int64_t epoch,
            const BatchUtterance& utterance, std::span<float> x_FC);

  /// Returns what make() changes in an utterance, without reading it.
  [[nodiscard]] UtteranceEffects effects(std::int64_t epoch, const BatchUtterance& utterance) const;

  /// Returns the samples of the features that were made last, at the features' rate.
  std::span<const float> samples() const { return samples_; }

 private:
  int rate_, stack_;
  RangeReader reader_;
  FeatureExtractor extractor_;
  std::optional<AudioAugment> audio_;
  std::optional<SpecAugment> features_;
  std::vector<float> samples_;
};

}  // namespace penstock::runtime
