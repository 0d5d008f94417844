#pragma once

#include <cstdint>
#include <vector>

namespace penstock::runtime {

/// One triangular filter: the weights of consecutive bins, beginning with bin `first`.
struct MelFilter {
  std::int64_t first = 0;
  std::vector<float> weights;
};

/// Returns librosa.filters.mel(sr=rate, n_fft=fft, n_mels=mels). Its triangles lie between points
/// that are evenly spaced from 0 to rate / 2 on Slaney's mel scale, which is linear below 1 kHz and
/// logarithmic above. Each triangle has unit area.
[[nodiscard]] std::vector<MelFilter> mel_filters(int mels, int rate, std::int64_t fft);

/// Returns torchaudio.compliance.kaldi.get_mel_banks(mels, fft, rate, 20, 0, …). Its triangles are
/// linear in mels, not in Hz. They lie between points that are evenly spaced from 20 Hz to rate / 2
/// on the scale 1127 ln(1 + Hz / 700). Each triangle has height 1.
[[nodiscard]] std::vector<MelFilter> kaldi_mel_filters(int mels, int rate, std::int64_t fft);

}  // namespace penstock::runtime
