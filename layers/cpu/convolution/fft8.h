#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "layers/cpu/convolution/complex8.h"

namespace penstock::layers {

/// Discrete Fourier transforms of eight channels at once, of length 2^a or 3·2^a, by Stockham's
/// algorithm with radices 4, 2 and 3. Inverses are not divided by the length.
class Fft8 {
 public:
  static constexpr std::int64_t kLongest = 256;

  /// Returns the shortest length that holds `count` points, or 0 if that is beyond kLongest.
  static std::int64_t length_for(std::int64_t count);

  /// `length` must come from length_for().
  explicit Fft8(std::int64_t length);

  std::int64_t length() const { return length_; }

  /// Sets out[k·out_stride] = sum over n of in[n·in_stride] · exp(-2πi·kn/length). Strides count
  /// groups; `in` and `out` must not overlap.
  void forward(const Complex8* in, std::int64_t in_stride, Complex8* out,
               std::int64_t out_stride) const;
  /// Does the same with exp(+2πi·kn/length).
  void inverse(const Complex8* in, std::int64_t in_stride, Complex8* out,
               std::int64_t out_stride) const;

 private:
  std::int64_t length_;
  std::vector<int> radices_;
  std::vector<std::complex<float>> roots_;  // exp(-2πi·k/length)
};

}  // namespace penstock::layers
