#include "runtime/data/augment/convolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <complex>
#include <unsupported/Eigen/FFT>

#include "base/error.h"
#include "base/quantities.h"

// The convolution is a product of two Fourier transforms in FP64, by Eigen's KissFFT. It has as
// many points as the whole result, up to the next power of two, so nothing wraps around. The order
// of its arithmetic depends on the lengths alone: it has no plans, and no kernels of its own for
// some processors. It costs O(n log n) for n points, and about 52 bytes a point, tables of sines
// included: 52 MiB for 30 s in a room of 10 s at 16 kHz.

namespace penstock::runtime {
namespace {

constexpr std::size_t kLeastPoints = 8;  // Eigen's transform of real numbers divides them by four

using Spectrum = std::vector<std::complex<double>>;

Spectrum spectrum(Eigen::FFT<double>& fft, std::span<const float> x, std::size_t points) {
  std::vector<double> padded(points);
  std::ranges::copy(x, padded.begin());
  Spectrum transformed;
  fft.fwd(transformed, padded);
  return transformed;
}

}  // namespace

std::vector<float> convolve(std::span<const float> x, std::span<const float> h, std::int64_t lead) {
  if (x.empty() || lead < 0 || lead >= std::ssize(h))
    throw ShapeError(fmt::format("a convolution of {} with {} and a lead of {}",
                                 counted(x.size(), "sample"), counted(h.size(), "tap"), lead));
  const std::size_t points = std::bit_ceil(std::max(x.size() + h.size() - 1, kLeastPoints));
  Eigen::FFT<double> fft;
  fft.SetFlag(fft.HalfSpectrum);
  Spectrum product = spectrum(fft, x, points);
  const Spectrum filter = spectrum(fft, h, points);
  for (std::size_t i = 0; i < product.size(); ++i) product[i] *= filter[i];
  std::vector<double> whole;
  fft.inv(whole, product, static_cast<Eigen::Index>(points));
  std::vector<float> y(x.size());
  for (std::size_t t = 0; t < y.size(); ++t)
    y[t] = static_cast<float>(whole[t + static_cast<std::size_t>(lead)]);
  return y;
}

}  // namespace penstock::runtime
