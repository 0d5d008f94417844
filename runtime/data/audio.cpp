#include "runtime/data/audio.h"

#include <fmt/format.h>
#include <sndfile.h>

#include <cmath>
#include <memory>
#include <string>

#include "base/counted.h"
#include "base/error.h"
#include "runtime/data/container.h"

namespace penstock::runtime {
namespace {

constexpr sf_count_t kBlock = 16384;  // frames decoded at a time

// Sound lies between -1 and 1, or, badly scaled, among 32-bit integers. The power of any spectrum
// of samples up to here is a finite FP32 number.
constexpr float kLoudest = 1e10f;

struct CloseFile {
  void operator()(SNDFILE* file) const { sf_close(file); }
};
using File = std::unique_ptr<SNDFILE, CloseFile>;

[[noreturn]] void throw_unusable(const std::filesystem::path& file, const std::string& reason) {
  throw DataError(fmt::format("{}: {}", file.string(), reason));
}

void check_whole(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) throw_unusable(file, "no such file");
  if (std::filesystem::is_directory(status)) throw_unusable(file, "a folder, not an audio file");
  if (std::filesystem::file_size(file, error) == 0) throw_unusable(file, "empty file");
  if (error) throw_unusable(file, error.message());
  const std::string missing = missing_end(file);
  if (!missing.empty()) throw_unusable(file, fmt::format("truncated: {}", missing));
}

float mean(const float* frame, int channels) {
  float sum = 0;
  for (int c = 0; c < channels; ++c) sum += frame[c];
  return sum / static_cast<float>(channels);
}

/// Decodes the file and gives every mixed sample to `sink`.
template <class Sink>
AudioLength decode(const std::filesystem::path& file, Sink&& sink) {
  check_whole(file);
  SF_INFO info = {};
  const File sound(sf_open(file.c_str(), SFM_READ, &info));
  if (!sound)
    throw_unusable(file,
                   fmt::format("not audio that libsndfile can read: {}", sf_strerror(nullptr)));
  if (info.samplerate <= 0)
    throw_unusable(file, fmt::format("its sample rate is {}", info.samplerate));

  std::vector<float> block(static_cast<std::size_t>(kBlock * info.channels));
  AudioLength length{0, info.samplerate};
  while (const sf_count_t frames = sf_readf_float(sound.get(), block.data(), kBlock)) {
    for (sf_count_t i = 0; i < frames; ++i) {
      const float sample = mean(block.data() + i * info.channels, info.channels);
      if (!std::isfinite(sample))
        throw_unusable(file, fmt::format("sample {} is not a finite number", length.samples + i));
      if (std::abs(sample) > kLoudest)
        throw_unusable(file, fmt::format("sample {} is {:g}, but sound lies between -1 and 1",
                                         length.samples + i, sample));
      sink(sample);
    }
    length.samples += frames;
  }
  if (sf_error(sound.get()) != SF_ERR_NO_ERROR)
    throw_unusable(file, fmt::format("cannot be decoded after sample {}: {}", length.samples,
                                     sf_strerror(sound.get())));
  // A stream of unknown length says SF_COUNT_MAX.
  if (info.frames != SF_COUNT_MAX && length.samples < info.frames)
    throw_unusable(file,
                   fmt::format("truncated: its header promises {}, but only {} can be decoded",
                               counted(info.frames, "sample"), length.samples));
  if (length.samples == 0) throw_unusable(file, "has no samples");
  return length;
}

}  // namespace

Audio read_audio(const std::filesystem::path& file) {
  Audio audio;
  audio.rate = decode(file, [&](float sample) { audio.samples.push_back(sample); }).rate;
  return audio;
}

AudioLength measure_audio(const std::filesystem::path& file) {
  return decode(file, [](float) {});
}

}  // namespace penstock::runtime
