#pragma once

#include <cstdint>
#include <span>

namespace penstock::runtime {

/// `from` samples become `to`. In lowest terms.
struct Resampling {
  std::int64_t from = 1;
  std::int64_t to = 1;
  bool operator==(const Resampling&) const = default;
};

/// How audio at `file_rate`, played `speed` times as fast, becomes audio at `rate`. A speed is
/// taken to the nearest thousandth. DataError if rates or speed aren't positive or the ratio lies
/// outside 1/256 to 256.
[[nodiscard]] Resampling resampling(int file_rate, int rate, double speed = 1);

/// Samples that `samples` become: ceil(samples × to / from). Integer arithmetic, so every rank
/// knows it without touching audio.
std::int64_t resampled_samples(std::int64_t samples, const Resampling&);

/// Band-limited resampling by libsoxr at its high quality (20 bits). Fills `output`; ShapeError
/// unless that has resampled_samples(input.size(), ratio) samples.
void resample(std::span<const float> input, const Resampling& ratio, std::span<float> output);

}  // namespace penstock::runtime
