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

AudioSource drawn(const SoundList& sounds, DrawNumbers& numbers) {
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

void AudioAugment::apply(const UtteranceDraw& draw, std::span<float> samples) const {
  if (samples.empty()) return;
  if (sounds_.rooms.count > 0) add_room(draw, samples);
  if (sounds_.noises.count > 0) add_drawn_noise(draw, samples);
  apply_gain(samples, DrawNumbers(SampleKind::gain, seed_, draw)
                          .within(config_.gain_db.front(), config_.gain_db.back()));
  if (codecs_.empty()) return;
  DrawNumbers numbers(SampleKind::codec, seed_, draw);
  if (numbers.next() >= config_.codec_share) return;
  const auto codec = static_cast<std::size_t>(numbers.between(0, std::ssize(codecs_) - 1));
  pass_codec(codecs_[codec], rate_, samples);
}

void AudioAugment::add_room(const UtteranceDraw& draw, std::span<float> samples) const try {
  DrawNumbers numbers(SampleKind::room, seed_, draw);
  if (numbers.next() >= config_.room_share) return;
  const AudioSource source = drawn(sounds_.rooms, numbers);
  const LocalFile local = open_by(sounds_.rooms.files.get(), source.audio);
  reverberate(samples, resampled(read_source(source, local.path), rate_));
} catch (const DataError& error) {
  throw_fault("augment.rooms", error);
}

void AudioAugment::add_drawn_noise(const UtteranceDraw& draw, std::span<float> samples) const try {
  DrawNumbers numbers(SampleKind::noise, seed_, draw);
  if (numbers.next() >= config_.noise_share) return;
  const double snr_db = numbers.within(config_.noise_snr_db.front(), config_.noise_snr_db.back());
  add_noise(samples, cut_noise(numbers, std::ssize(samples)), snr_db);
} catch (const DataError& error) {
  throw_fault("augment.noise", error);
}

std::vector<float> AudioAugment::cut_noise(DrawNumbers& numbers, std::int64_t samples) const {
  const AudioSource source = drawn(sounds_.noises, numbers);
  const Resampling ratio = resampling(source.length.rate, rate_);
  const std::int64_t wanted = (samples * ratio.from + ratio.to - 1) / ratio.to;
  const std::int64_t length = source.length.samples;
  const std::int64_t last = length > wanted ? length - wanted : length - 1;
  const LocalFile local = open_by(sounds_.noises.files.get(), source.audio);
  std::vector<float> noise =
      resampled(read_repeated(source, local.path, {numbers.between(0, last), wanted}), rate_);
  noise.resize(static_cast<std::size_t>(samples));  // resampling rounds up, there and back
  return noise;
}

}  // namespace penstock::runtime
