#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "configs/codec.h"
#include "configs/config.h"
#include "runtime/data/audio/audio_source.h"
#include "runtime/data/augment/draw_numbers.h"
#include "runtime/data/augment/sound_list.h"

namespace penstock::runtime {

/// A noise for one utterance.
struct DrawnNoise {
  AudioSource source;
  std::int64_t first = 0;  // sample at which it begins, at its own rate
  double snr_db = 0;
};

/// The changes of one utterance's samples.
struct AudioEffects {
  std::optional<AudioSource> room = {};
  std::optional<DrawnNoise> noise = {};
  double gain_db = 0;
  std::optional<std::size_t> codec = {};  // its place in augment.codecs
};

/// Changes an utterance's samples in training: a room, noise, gain and a codec, in this order. The
/// length stays. What it does depends on the seed and the draw alone, so every layout and every
/// resumed run hears the same.
class AudioAugment {
 public:
  /// `rate` is that of the samples, features.sample_rate. Throws ConfigError like parse_codecs().
  AudioAugment(const configs::AugmentConfig& config, int rate, std::uint64_t seed,
               AugmentSounds sounds);

  /// Draws the changes of an utterance that has this many samples. No recording is read.
  [[nodiscard]] AudioEffects drawn(const UtteranceDraw& draw, std::int64_t samples) const;

  /// Changes the samples of one utterance as drawn, in place. Throws DataError, which names the
  /// recording, if a noise or an impulse response can't be read.
  void apply(const UtteranceDraw& draw, std::span<float> samples) const;

 private:
  std::optional<AudioSource> drawn_room(const UtteranceDraw& draw) const;
  std::optional<DrawnNoise> drawn_noise(const UtteranceDraw& draw, std::int64_t samples) const;
  void add_room(const AudioSource& room, std::span<float> samples) const;
  void add_drawn_noise(const DrawnNoise& noise, std::span<float> samples) const;

  configs::AugmentConfig config_;
  int rate_;
  std::uint64_t seed_;
  AugmentSounds sounds_;
  std::vector<configs::Codec> codecs_;
};

}  // namespace penstock::runtime
