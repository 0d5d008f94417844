#include "runtime/data/audio/utterance_maker.h"

#include "runtime/data/audio/resample.h"

namespace penstock::runtime {

UtteranceMaker::UtteranceMaker(const configs::FeatureConfig& features,
                               const std::optional<Augmentation>& augmentation)
    : rate_(features.sample_rate), stack_(features.stack), extractor_(features) {
  if (!augmentation) return;
  const configs::AugmentConfig& config = augmentation->config;
  if (config.changes_audio())
    audio_.emplace(config, rate_, augmentation->seed, augmentation->sounds);
  if (config.changes_features()) features_.emplace(config, features, augmentation->seed);
}

void UtteranceMaker::make(const AudioSource& source, const std::filesystem::path& file,
                          std::int64_t epoch, const BatchUtterance& utterance,
                          std::span<float> x_FC) {
  const Audio audio = read_source(source, file, reader_);
  const UtteranceDraw draw{epoch, utterance.id, utterance.repeat};
  samples_.resize(static_cast<std::size_t>(utterance.samples));
  resample(audio.samples, resampling(audio.rate, rate_, utterance.speed), samples_);
  if (audio_) audio_->apply(draw, samples_);
  extractor_.extract(samples_, x_FC);
  if (features_) features_->apply(draw, x_FC);
}

UtteranceEffects UtteranceMaker::effects(std::int64_t epoch,
                                         const BatchUtterance& utterance) const {
  const UtteranceDraw draw{epoch, utterance.id, utterance.repeat};
  UtteranceEffects effects;
  if (audio_) effects.audio = audio_->drawn(draw, utterance.samples);
  if (features_) effects.features = features_->drawn(draw, utterance.frames * stack_);
  return effects;
}

}  // namespace penstock::runtime
