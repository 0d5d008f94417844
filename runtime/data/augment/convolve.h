#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::runtime {

/// Returns as many samples as `x` has: y[t] = Σ h[k] x[t + lead - k] over the taps k of `h`, where
/// x is 0 beyond its ends. A `lead` of 0 is the causal filter; the place of h's peak keeps the
/// timing. It is torchaudio.functional.fftconvolve(x, h), from sample `lead` on. Throws ShapeError
/// if one of the two is empty, or `lead` is no tap.
[[nodiscard]] std::vector<float> convolve(std::span<const float> x, std::span<const float> h,
                                          std::int64_t lead);

}  // namespace penstock::runtime
