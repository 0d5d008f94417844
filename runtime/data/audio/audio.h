#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace penstock::runtime {

/// Length of a recording, as its file stores it.
struct AudioLength {
  std::int64_t samples = 0;  // per channel
  int rate = 0;              // samples per second
  double seconds() const { return static_cast<double>(samples) / rate; }
  bool operator==(const AudioLength&) const = default;
};

/// A range of a recording's samples, counted from 0.
struct SampleRange {
  std::int64_t first = 0, samples = 0;
  bool operator==(const SampleRange&) const = default;
};

/// A recording mixed down to one channel (the mean of its channels), scaled to -1 … 1.
struct Audio {
  std::vector<float> samples;
  int rate = 0;
};

/// Reads a file in any format that libsndfile supports (WAV, FLAC, Ogg, SPHERE, MP3, …). Throws
/// DataError, which names the file, if it is missing, empty, truncated or not a sound file. Throws
/// it too if the file has no samples, or one that is not a finite number.
[[nodiscard]] Audio read_audio(const std::filesystem::path& file);

/// Reads a range of the samples that read_audio() returns, bit for bit. Earlier samples are decoded
/// only in formats that allow no exact seek (MP3, Ogg, GSM); later samples never are. Throws
/// DataError like read_audio() for the decoded part, and if the file ends before the range does.
[[nodiscard]] Audio read_audio(const std::filesystem::path& file, const SampleRange& range);

/// Reads ranges of recordings as read_audio() does, with its errors. Of a recording in a format
/// that allows no exact seek, it keeps the samples that it returned last and goes on decoding after
/// them. So ranges that follow or overlap one another decode it once. Not thread-safe.
class RangeReader {
 public:
  RangeReader();
  ~RangeReader();
  RangeReader(RangeReader&&) noexcept;
  RangeReader& operator=(RangeReader&&) noexcept;

  [[nodiscard]] Audio read(const std::filesystem::path& file, const SampleRange& range);
  /// Returns how many samples all calls have decoded in such formats.
  std::int64_t decoded() const { return decoded_; }

 private:
  struct Open;
  std::unique_ptr<Open> open_;  // null: no such recording
  std::int64_t decoded_ = 0;
};

/// Returns the exact length. Decodes the whole file as read_audio() does and throws the same
/// errors.
[[nodiscard]] AudioLength measure_audio(const std::filesystem::path& file);

/// Returns the length that the file's header states, in formats whose header is exact (WAV, FLAC,
/// AIFF, SPHERE). In other formats, decodes the file as measure_audio() does. Throws DataError like
/// read_audio() for the part that it reads. A damaged sample is found only when it is decoded.
[[nodiscard]] AudioLength audio_length(const std::filesystem::path& file);

}  // namespace penstock::runtime
