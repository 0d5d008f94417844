#include "runtime/data/audio/mel.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace penstock::runtime {
namespace {

// Constants of Slaney's Auditory Toolbox: 15 mels per kHz up to 1 kHz, then 27 mels per factor of
// 6.4.
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

constexpr double kKaldiLowestHz = 20;

double kaldi_mel_of(double hz) { return 1127 * std::log1p(hz / 700); }

/// The triangles of a filter bank. Corners and bins are given on the same scale.
struct Triangles {
  std::function<double(int)> corner;
  std::function<double(double)> place;  // converts a frequency in Hz to the corners' scale
  bool unit_area = false;               // scales each triangle to area 1, else to height 1
};

/// Triangle m rises from corner m to corner m + 1 and falls to corner m + 2, so neighbours overlap
/// by half. Its height at a bin is the lower of both slopes; bins with no height are not stored.
/// The corners' scale decides in which unit the sides are straight.
std::vector<MelFilter> make_filters(int mels, int rate, std::int64_t fft,
                                    const Triangles& triangles) {
  std::vector<MelFilter> filters(static_cast<std::size_t>(mels));
  for (int m = 0; m < mels; ++m) {
    const double low = triangles.corner(m), middle = triangles.corner(m + 1),
                 high = triangles.corner(m + 2);
    const double scale = triangles.unit_area ? 2 / (high - low) : 1;
    MelFilter& filter = filters[static_cast<std::size_t>(m)];
    for (std::int64_t bin = 0; bin <= fft / 2; ++bin) {
      const double at = triangles.place(static_cast<double>(bin) * rate / static_cast<double>(fft));
      const double height = std::min((at - low) / (middle - low), (high - at) / (high - middle));
      if (height <= 0) continue;
      if (filter.weights.empty()) filter.first = bin;
      filter.weights.push_back(static_cast<float>(height * scale));
    }
  }
  return filters;
}

}  // namespace

std::vector<MelFilter> mel_filters(int mels, int rate, std::int64_t fft) {
  const double top = mel_of(rate / 2.0);
  return make_filters(mels, rate, fft,
                      {.corner = [&](int i) { return hz_of(top * i / (mels + 1)); },
                       .place = [](double hz) { return hz; },
                       .unit_area = true});
}

std::vector<MelFilter> kaldi_mel_filters(int mels, int rate, std::int64_t fft) {
  const double low = kaldi_mel_of(kKaldiLowestHz), high = kaldi_mel_of(rate / 2.0);
  return make_filters(mels, rate, fft,
                      {.corner = [&](int i) { return low + (high - low) * i / (mels + 1); },
                       .place = kaldi_mel_of});
}

}  // namespace penstock::runtime
