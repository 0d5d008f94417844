#include "tools/reports/training/audio_url.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/encoded_text.h"
#include "runtime/data/audio/audio.h"
#include "runtime/data/audio/resample.h"

namespace penstock::tools {
namespace {

/// Appends the lowest bytes of a number, the lowest first.
void append_bytes(std::string& to, std::uint32_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(number >> (8 * i) & 0xff);
}

/// Returns the range of a recording's samples that is heard.
runtime::SampleRange heard_range(const JudgedText& utterance, const runtime::AudioLength& length) {
  const double rate = length.rate;
  const double begin =
      std::clamp(utterance.offset.value_or(0) * rate, 0.0, static_cast<double>(length.samples));
  const double rest = static_cast<double>(length.samples) - std::round(begin);
  const double wanted = utterance.duration > 0 ? utterance.duration : kHeardSeconds;
  return {.first = std::llround(begin),
          .samples = std::llround(std::min(std::min(wanted, kHeardSeconds) * rate, rest))};
}

}  // namespace

std::string wav_bytes(std::span<const float> samples, int rate) {
  const auto size = static_cast<std::uint32_t>(2 * samples.size());
  std::string bytes = "RIFF";
  append_bytes(bytes, 36 + size, 4);
  bytes += "WAVEfmt ";
  append_bytes(bytes, 16, 4);
  append_bytes(bytes, 1, 2);  // whole numbers
  append_bytes(bytes, 1, 2);  // channel
  append_bytes(bytes, static_cast<std::uint32_t>(rate), 4);
  append_bytes(bytes, static_cast<std::uint32_t>(2 * rate), 4);
  append_bytes(bytes, 2, 2);
  append_bytes(bytes, 16, 2);
  bytes += "data";
  append_bytes(bytes, size, 4);
  for (const float sample : samples) {
    const float cut = std::clamp(sample, -1.0f, 1.0f);
    append_bytes(bytes, static_cast<std::uint32_t>(std::lround(cut * 32767)), 2);
  }
  return bytes;
}

std::string audio_url(const JudgedText& utterance) {
  const runtime::AudioLength length = runtime::audio_length(utterance.audio);
  runtime::Audio audio = runtime::read_audio(utterance.audio, heard_range(utterance, length));
  if (audio.rate > kHeardRate) {
    const runtime::Resampling ratio = runtime::resampling(audio.rate, kHeardRate);
    std::vector<float> slower(static_cast<std::size_t>(
        runtime::resampled_samples(static_cast<std::int64_t>(audio.samples.size()), ratio)));
    runtime::resample(audio.samples, ratio, slower);
    audio = {std::move(slower), kHeardRate};
  }
  return "data:audio/wav;base64," + to_base64(wav_bytes(audio.samples, audio.rate));
}

}  // namespace penstock::tools
