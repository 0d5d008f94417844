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
[[nodiscard]] std::vector<MelFilter> mel_filters(int mels, int rate, std::int64_t fft);

/// torchaudio.compliance.kaldi.get_mel_banks(mels, fft, rate, 20, 0, …): triangles over mels, not
/// over Hz, between points that are even on the scale 1127 ln(1 + Hz / 700) from 20 Hz to rate / 2,
/// each of height 1.
[[nodiscard]] std::vector<MelFilter> kaldi_mel_filters(int mels, int rate, std::int64_t fft);

}  // namespace penstock::runtime
