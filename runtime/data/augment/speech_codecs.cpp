#include "runtime/data/augment/speech_codecs.h"

#include <fmt/format.h>
#include <gsm.h>
#include <opus/opus.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numbers>
#include <vector>

#include "base/error.h"
#include "runtime/data/audio/resample.h"
#include "runtime/data/augment/convolve.h"
#include "runtime/data/augment/g711.h"

// A codec works at a rate of its own: 8 kHz for telephones, and for Opus the least of its rates
// that is not below the samples'. Samples are resampled to it without a delay, padded with silence
// up to a whole number of the codec's frames, encoded, decoded and resampled back. Opus looks ahead
// by a number of samples that it states, which are cut at the start. A band is a linear-phase
// filter: the difference of two windowed sincs, whose own delay is cut too.

namespace penstock::runtime {
namespace {

constexpr int kTelephoneRate = 8000;
constexpr double kFilterSeconds = 0.016;  // length of a band's filter

std::int16_t to_16_bits(float sample) {
  return static_cast<std::int16_t>(std::lround(std::clamp(32768.0f * sample, -32768.0f, 32767.0f)));
}
float from_16_bits(std::int16_t sample) { return static_cast<float>(sample) / 32768.0f; }

/// Resamples, lets `change` work on the samples at its own rate, and resamples back.
template <class Change>
void at_rate(int own, int rate, std::span<float> samples, Change&& change) {
  const Resampling there = resampling(rate, own), back = resampling(own, rate);
  std::vector<float> inner(static_cast<std::size_t>(resampled_samples(std::ssize(samples), there)));
  resample(samples, there, inner);
  change(inner);
  std::vector<float> outer(static_cast<std::size_t>(resampled_samples(std::ssize(inner), back)));
  resample(inner, back, outer);
  std::copy_n(outer.begin(), samples.size(),
              samples.begin());  // resampling rounds up, there and back
}

template <class Law>
void pass_g711(std::span<float> samples, Law&& law) {
  for (float& sample : samples) sample = from_16_bits(law(to_16_bits(sample)));
}

struct DestroyGsm {
  void operator()(gsm state) const { gsm_destroy(state); }
};
using Gsm = std::unique_ptr<gsm_state, DestroyGsm>;

void pass_gsm(std::span<float> samples) {
  constexpr std::size_t kFrame = 160;
  const Gsm encoder(gsm_create()), decoder(gsm_create());
  if (!encoder || !decoder) throw DataError("libgsm has no memory for a codec");
  std::array<gsm_signal, kFrame> frame = {};
  gsm_frame bytes = {};
  for (std::size_t at = 0; at < samples.size(); at += kFrame) {
    const auto part = samples.subspan(at, std::min(kFrame, samples.size() - at));
    frame.fill(0);
    std::ranges::transform(part, frame.begin(), to_16_bits);
    gsm_encode(encoder.get(), frame.data(), bytes);
    if (gsm_decode(decoder.get(), bytes, frame.data()) != 0)
      throw DataError("libgsm cannot decode what it encoded");
    std::transform(frame.begin(), frame.begin() + std::ssize(part), part.begin(), from_16_bits);
  }
}

struct DestroyOpus {
  void operator()(OpusEncoder* encoder) const { opus_encoder_destroy(encoder); }
  void operator()(OpusDecoder* decoder) const { opus_decoder_destroy(decoder); }
};

/// Throws DataError if libopus reports an error, and returns its number otherwise.
int checked(int result) {
  if (result < 0) throw DataError(fmt::format("libopus: {}", opus_strerror(result)));
  return result;
}

/// Returns the least rate of Opus that is not below the samples', or its highest.
int opus_rate(int rate) {
  constexpr std::array kRates = {8000, 12000, 16000, 24000, 48000};
  const auto found = std::ranges::lower_bound(kRates, rate);
  return found == kRates.end() ? kRates.back() : *found;
}

void pass_opus(int kbits, int rate, std::span<float> samples) {
  constexpr int kFramesPerSecond = 50, kMaxBytes = 4000;
  int error = OPUS_OK;
  const std::unique_ptr<OpusEncoder, DestroyOpus> encoder(
      opus_encoder_create(rate, 1, OPUS_APPLICATION_VOIP, &error));
  checked(error);
  const std::unique_ptr<OpusDecoder, DestroyOpus> decoder(opus_decoder_create(rate, 1, &error));
  checked(error);
  checked(opus_encoder_ctl(encoder.get(), OPUS_SET_BITRATE(kbits * 1000)));
  opus_int32 ahead = 0;
  checked(opus_encoder_ctl(encoder.get(), OPUS_GET_LOOKAHEAD(&ahead)));
  const int frame = rate / kFramesPerSecond;
  const std::int64_t needed = std::ssize(samples) + ahead;
  std::vector<float> padded(static_cast<std::size_t>((needed + frame - 1) / frame * frame));
  std::ranges::transform(samples, padded.begin(),
                         [](const float x) { return std::clamp(x, -1.0f, 1.0f); });
  std::array<unsigned char, kMaxBytes> packet = {};
  for (float* at = padded.data(); at < padded.data() + padded.size(); at += frame) {
    const int bytes =
        checked(opus_encode_float(encoder.get(), at, frame, packet.data(), kMaxBytes));
    checked(opus_decode_float(decoder.get(), packet.data(), bytes, at, frame, 0));
  }
  std::copy_n(padded.begin() + ahead, samples.size(), samples.begin());
}

/// Returns the taps of a filter that passes `low` to `high` Hz, with its peak in the middle.
std::vector<float> band_filter(double low, double high, int rate) {
  const auto half = std::max<std::int64_t>(std::lround(kFilterSeconds * rate / 2), 1);
  std::vector<float> taps;
  const auto low_pass = [&](double cut, double t) {  // the ideal one's impulse response
    const double width = 2 * cut / rate;
    return t == 0 ? width : std::sin(std::numbers::pi * width * t) / (std::numbers::pi * t);
  };
  for (std::int64_t i = -half; i <= half; ++i) {
    const auto t = static_cast<double>(i);
    const double hann = 0.5 + 0.5 * std::cos(std::numbers::pi * t / static_cast<double>(half + 1));
    taps.push_back(static_cast<float>(hann * (low_pass(high, t) - low_pass(low, t))));
  }
  return taps;
}

void pass_band(const configs::Codec& band, int rate, std::span<float> samples) {
  const std::vector<float> taps = band_filter(band.low, band.high, rate);
  std::ranges::copy(convolve(samples, taps, std::ssize(taps) / 2), samples.begin());
}

}  // namespace

void pass_codec(const configs::Codec& codec, int rate, std::span<float> samples) {
  using Kind = configs::Codec::Kind;
  if (samples.empty()) return;
  switch (codec.kind) {
    case Kind::mulaw:
      return at_rate(kTelephoneRate, rate, samples,
                     [](std::span<float> x) { pass_g711(x, through_mulaw); });
    case Kind::alaw:
      return at_rate(kTelephoneRate, rate, samples,
                     [](std::span<float> x) { pass_g711(x, through_alaw); });
    case Kind::gsm:
      return at_rate(kTelephoneRate, rate, samples, pass_gsm);
    case Kind::opus:
      return at_rate(opus_rate(rate), rate, samples,
                     [&](std::span<float> x) { pass_opus(codec.kbits, opus_rate(rate), x); });
    case Kind::band:
      return pass_band(codec, rate, samples);
  }
}

}  // namespace penstock::runtime
