#include "runtime/data/mel.h"

#include <algorithm>
#include <cmath>

namespace penstock::runtime {
namespace {

// Slaney's Auditory Toolbox: 15 mels a kHz up to 1 kHz, then 27 mels for a factor of 6.4.
constexpr double kHzPerMel = 200.0 / 3;
constexpr double kBreakHz = 1000;
constexpr double kBreakMel = kBreakHz / kHzPerMel;
const double kLogStep = std::log(6.4) / 27;

double mel_of(double hz) {
  return hz < kBreakHz ? hz / kHzPerMel : kBreakMel + std::log(hz / kBreakHz) / kLogStep;
}

double hz_of(double mel) {
  return mel < kBreakMel ? mel * kHzPerMel : kBreakHz * std::exp(kLogStep * (mel - kBreakMel));
}

}  // namespace

std::vector<MelFilter> mel_filters(int mels, int rate, std::int64_t fft) {
  const double top = mel_of(rate / 2.0);
  const auto point = [&](int i) { return hz_of(top * i / (mels + 1)); };
  std::vector<MelFilter> filters(static_cast<std::size_t>(mels));
  for (int m = 0; m < mels; ++m) {
    const double low = point(m), middle = point(m + 1), high = point(m + 2);
    MelFilter& filter = filters[static_cast<std::size_t>(m)];
    for (std::int64_t bin = 0; bin <= fft / 2; ++bin) {
      const double hz = static_cast<double>(bin) * rate / static_cast<double>(fft);
      const double height = std::min((hz - low) / (middle - low), (high - hz) / (high - middle));
      if (height <= 0) continue;
      if (filter.weights.empty()) filter.first = bin;
      filter.weights.push_back(static_cast<float>(height * 2 / (high - low)));
    }
  }
  return filters;
}

}  // namespace penstock::runtime
