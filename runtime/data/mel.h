#pragma once

#include <cstdint>
#include <vector>

namespace penstock::runtime {

/// One triangular filter: weights of the bins from `first` on.
struct MelFilter {
  std::int64_t first = 0;
  std::vector<float> weights;
};

/// librosa.filters.mel(sr=rate, n_fft=fft, n_mels=mels): triangles between points that are even on
/// Slaney's mel scale (linear below 1 kHz, logarithmic above) from 0 to rate / 2, each of unit
/// area.
std::vector<MelFilter> mel_filters(int mels, int rate, std::int64_t fft);

}  // namespace penstock::runtime
