#pragma once

#include <cstdint>
#include <span>

namespace penstock::runtime {

/// Converts `from` samples into `to` samples. The ratio is in lowest terms.
struct Resampling {
  std::int64_t from = 1;
  std::int64_t to = 1;
  bool operator==(const Resampling&) const = default;
};

/// Returns the ratio that converts audio at `file_rate`, played `speed` times as fast, to `rate`.
/// The speed is rounded to the nearest thousandth. Throws DataError if the rates or the speed
/// aren't positive or the ratio lies outside 1/256 to 256.
[[nodiscard]] Resampling resampling(int file_rate, int rate, double speed = 1);

/// Returns ceil(samples × to / from). Uses integer arithmetic, so every rank knows the length
/// without reading audio.
std::int64_t resampled_samples(std::int64_t samples, const Resampling&);

/// Resamples band-limited, with libsoxr at high quality (20 bits). Fills `output`. Throws
/// ShapeError unless `output` has resampled_samples(input.size(), ratio) samples.
void resample(std::span<const float> input, const Resampling& ratio, std::span<float> output);

}  // namespace penstock::runtime
