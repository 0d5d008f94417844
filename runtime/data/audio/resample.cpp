#include "runtime/data/audio/resample.h"

#include <fmt/format.h>
#include <soxr.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "base/error.h"
#include "base/quantities.h"

namespace penstock::runtime {

// A recording that is played `speed` times as fast has speed · file_rate samples a second. Speeds
// are whole thousandths, so the ratio is one of integers. For example, 44,100 Hz at speed 1.1 to
// 16,000 Hz is 4851 : 1600.
Resampling resampling(int file_rate, int rate, double speed) {
  constexpr std::int64_t kSpeedUnits = 1000;
  constexpr std::int64_t kLargestRatio = 256;
  const std::int64_t from = file_rate * std::llround(speed * kSpeedUnits);
  const std::int64_t to = rate * kSpeedUnits;
  if (from <= 0 || to <= 0 || from > kLargestRatio * to || to > kLargestRatio * from)
    throw DataError(fmt::format(
        "cannot resample {} Hz at speed {:f} to {} Hz: the ratio must lie between 1/256 and 256",
        file_rate, speed, rate));
  const std::int64_t divisor = std::gcd(from, to);
  return {from / divisor, to / divisor};
}

std::int64_t resampled_samples(std::int64_t samples, const Resampling& ratio) {
  return (samples * ratio.to + ratio.from - 1) / ratio.from;
}

void resample(std::span<const float> input, const Resampling& ratio, std::span<float> output) {
  const std::int64_t expected = resampled_samples(std::ssize(input), ratio);
  if (std::ssize(output) != expected)
    throw ShapeError(fmt::format("resampling needs room for {}, not {}",
                                 counted(expected, "sample"), output.size()));
  if (ratio.from == ratio.to) {
    std::ranges::copy(input, output.begin());
    return;
  }
  const soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
  std::size_t read = 0, written = 0;
  const soxr_error_t error = soxr_oneshot(
      static_cast<double>(ratio.from), static_cast<double>(ratio.to), 1, input.data(), input.size(),
      &read, output.data(), output.size(), &written, nullptr, &quality, nullptr);
  if (error != nullptr) throw DataError(fmt::format("libsoxr: {}", soxr_strerror(error)));
  // soxr rounds its length to the nearest sample, resampled_samples() rounds up: one may be left.
  std::ranges::fill(output.subspan(written), 0.0f);
}

}  // namespace penstock::runtime
