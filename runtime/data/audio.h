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

/// A recording mixed to one channel (the mean of its channels), full scale 1.
struct Audio {
  std::vector<float> samples;
  int rate = 0;
};

/// Reads whatever libsndfile reads (WAV, FLAC, Ogg, SPHERE, MP3, …). DataError that names the file
/// if it is missing, empty, no sound file, truncated, without samples, or holds a sample that is
/// not a number.
[[nodiscard]] Audio read_audio(const std::filesystem::path& file);

/// The exact length, by decoding everything as read_audio does, with the same errors.
[[nodiscard]] AudioLength measure_audio(const std::filesystem::path& file);

}  // namespace penstock::runtime
