#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "configs/codec.h"
#include "configs/config.h"
#include "runtime/data/augment/draw_numbers.h"
#include "runtime/data/augment/sound_list.h"

namespace penstock::runtime {

/// Changes an utterance's samples in training: a room, noise, gain and a codec, in this order. The
/// length stays. What it does depends on the seed and the draw alone, so every layout and every
/// resumed run hears the same.
class AudioAugment {
 public:
  /// `rate` is that of the samples, features.sample_rate. Throws ConfigError like parse_codecs().
  AudioAugment(const configs::AugmentConfig& config, int rate, std::uint64_t seed,
               AugmentSounds sounds);

  /// Changes the samples of one utterance, in place. Throws DataError, which names the recording,
  /// if a noise or an impulse response can't be read.
  void apply(const UtteranceDraw& draw, std::span<float> samples) const;

 private:
  void add_room(const UtteranceDraw& draw, std::span<float> samples) const;
  void add_drawn_noise(const UtteranceDraw& draw, std::span<float> samples) const;
  std::vector<float> cut_noise(DrawNumbers& numbers, std::int64_t samples) const;

  configs::AugmentConfig config_;
  int rate_;
  std::uint64_t seed_;
  AugmentSounds sounds_;
  std::vector<configs::Codec> codecs_;
};

}  // namespace penstock::runtime
