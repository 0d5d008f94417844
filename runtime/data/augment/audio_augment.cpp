#include "runtime/data/augment/audio_augment.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "runtime/data/audio/resample.h"
#include "runtime/data/augment/add_noise.h"
#include "runtime/data/augment/reverberate.h"
#include "runtime/data/augment/speech_codecs.h"

// The order is that of a telephone call: a voice sounds in a room, other sounds join it, a
// microphone amplifies both, and a codec transmits them. The speed comes before all of them, in the
// resampling of the recording. For each effect the draw's first number decides whether the
// utterance gets it, and the next ones which recording, which part of it and how much.
//
// A noise is cut to the utterance's length, beginning anywhere. One that is shorter is repeated
// from its beginning. Only the part that is heard is kept, except where it is repeated. MP3, Ogg
// and GSM are decoded up to it.

namespace penstock::runtime {
namespace {

/// Returns samples at another rate.
std::vector<float> resampled(const Audio& audio, int rate) {
  const Resampling ratio = resampling(audio.rate, rate);
  std::vector<float> result(
      static_cast<std::size_t>(resampled_samples(std::ssize(audio.samples), ratio)));
  resample(audio.samples, ratio, result);
  return result;
}

/// Returns how many samples become `samples` by resampling.
std::int64_t samples_before(std::int64_t samples, const Resampling& ratio) {
  return (samples * ratio.from + ratio.to - 1) / ratio.to;
}

/// Draws a recording of a list.
AudioSource drawn_source(const SoundList& sounds, DrawNumbers& numbers) {
  return sounds.at(
      static_cast<std::uint64_t>(numbers.between(0, static_cast<std::int64_t>(sounds.count) - 1)));
}

/// Names the key of a recording that failed.
[[noreturn]] void throw_fault(std::string_view key, const DataError& error) {
  throw DataError(
      fmt::format("{} ({}: restore it, or remove it from the manifest)", error.what(), key));
}

/// Reads `samples` of a noise from `first` on, repeating it if it is shorter.
Audio read_repeated(const AudioSource& source, const std::filesystem::path& file,
                    const SampleRange& part) {
  const std::int64_t length = source.length.samples;
  if (part.first + part.samples <= length) return read_part(source, file, part);
  Audio audio = read_source(source, file);
  std::vector<float> repeated(static_cast<std::size_t>(part.samples));
  for (std::int64_t i = 0; i < part.samples; ++i)
    repeated[static_cast<std::size_t>(i)] =
        audio.samples[static_cast<std::size_t>((part.first + i) % length)];
  audio.samples = std::move(repeated);
  return audio;
}

}  // namespace

AudioAugment::AudioAugment(const configs::AugmentConfig& config, int rate, std::uint64_t seed,
                           AugmentSounds sounds)
    : config_(config),
      rate_(rate),
      seed_(seed),
      sounds_(std::move(sounds)),
      codecs_(configs::parse_codecs(config, rate)) {}

AudioEffects AudioAugment::drawn(const UtteranceDraw& draw, std::int64_t samples) const {
  AudioEffects effects{.room = drawn_room(draw), .noise = drawn_noise(draw, samples)};
  effects.gain_db = DrawNumbers(SampleKind::gain, seed_, draw)
                        .within(config_.gain_db.front(), config_.gain_db.back());
  if (codecs_.empty()) return effects;
  DrawNumbers numbers(SampleKind::codec, seed_, draw);
  if (numbers.next() < config_.codec_share)
    effects.codec = static_cast<std::size_t>(numbers.between(0, std::ssize(codecs_) - 1));
  return effects;
}

void AudioAugment::apply(const UtteranceDraw& draw, std::span<float> samples) const {
  if (samples.empty()) return;
  const AudioEffects effects = drawn(draw, std::ssize(samples));
  if (effects.room) add_room(*effects.room, samples);
  if (effects.noise) add_drawn_noise(*effects.noise, samples);
  apply_gain(samples, effects.gain_db);
  if (effects.codec) pass_codec(codecs_[*effects.codec], rate_, samples);
}

std::optional<AudioSource> AudioAugment::drawn_room(const UtteranceDraw& draw) const {
  if (sounds_.rooms.count == 0) return std::nullopt;
  DrawNumbers numbers(SampleKind::room, seed_, draw);
  if (numbers.next() >= config_.room_share) return std::nullopt;
  return drawn_source(sounds_.rooms, numbers);
}

std::optional<DrawnNoise> AudioAugment::drawn_noise(const UtteranceDraw& draw,
                                                    std::int64_t samples) const {
  if (sounds_.noises.count == 0) return std::nullopt;
  DrawNumbers numbers(SampleKind::noise, seed_, draw);
  if (numbers.next() >= config_.noise_share) return std::nullopt;
  DrawnNoise noise;
  noise.snr_db = numbers.within(config_.noise_snr_db.front(), config_.noise_snr_db.back());
  noise.source = drawn_source(sounds_.noises, numbers);
  const std::int64_t length = noise.source.length.samples;
  const std::int64_t wanted = samples_before(samples, resampling(noise.source.length.rate, rate_));
  noise.first = numbers.between(0, length > wanted ? length - wanted : length - 1);
  return noise;
}

void AudioAugment::add_room(const AudioSource& room, std::span<float> samples) const try {
  const LocalFile local = open_by(sounds_.rooms.files.get(), room.audio);
  reverberate(samples, resampled(read_source(room, local.path), rate_));
} catch (const DataError& error) {
  throw_fault("augment.rooms", error);
}

void AudioAugment::add_drawn_noise(const DrawnNoise& noise, std::span<float> samples) const try {
  const AudioSource& source = noise.source;
  const std::int64_t wanted =
      samples_before(std::ssize(samples), resampling(source.length.rate, rate_));
  const LocalFile local = open_by(sounds_.noises.files.get(), source.audio);
  std::vector<float> part =
      resampled(read_repeated(source, local.path, {noise.first, wanted}), rate_);
  part.resize(samples.size());  // resampling rounds up, there and back
  add_noise(samples, part, noise.snr_db);
} catch (const DataError& error) {
  throw_fault("augment.noise", error);
}

}  // namespace penstock::runtime
