#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace penstock::runtime {

/// Length of a recording as its file holds it.
struct AudioLength {
  std::int64_t samples = 0;  // of one channel
  int rate = 0;              // samples a second
  double seconds() const { return static_cast<double>(samples) / rate; }
  bool operator==(const AudioLength&) const = default;
};

/// Some samples of a recording, counted from 0.
struct SampleRange {
  std::int64_t first = 0, samples = 0;
  bool operator==(const SampleRange&) const = default;
};

/// A recording mixed to one channel (the mean of its channels), full scale 1.
struct Audio {
  std::vector<float> samples;
  int rate = 0;
};

/// Reads whatever libsndfile reads (WAV, FLAC, Ogg, SPHERE, MP3, …). DataError that names the file
/// if it is missing, empty, no sound file, truncated, without samples, or holds a sample that is
/// not a number.
[[nodiscard]] Audio read_audio(const std::filesystem::path& file);

/// Those samples of read_audio(), to the bit. What lies before them is decoded only where a format
/// cannot be entered exactly there (MP3, Ogg, GSM); what lies behind them never is. DataError as
/// read_audio, for what is decoded, and if the file ends before.
[[nodiscard]] Audio read_audio(const std::filesystem::path& file, const SampleRange& range);

/// The exact length, by decoding everything as read_audio does, with the same errors.
[[nodiscard]] AudioLength measure_audio(const std::filesystem::path& file);

/// The length that the file's header tells, in formats that tell it to the sample (WAV, FLAC, AIFF,
/// SPHERE); of others measure_audio(). DataError as read_audio for what is looked at: a damaged
/// sample is found when it is read.
[[nodiscard]] AudioLength audio_length(const std::filesystem::path& file);

}  // namespace penstock::runtime
