#pragma once

#include "layers/cpu/convolution/conv2d_filter.h"

namespace penstock::layers {

/// Computes the gradient of a weight: for each tap the product of x and dy at that distance, summed
/// over the tiles of a line as products of spectra.
class Conv2dTapGradient {
 public:
  Conv2dTapGradient(const Conv2dGeometry& geometry, const Conv2dFold2d& fold, Scratch& scratch);

  /// Adds the gradient to `dweight`.
  void add(Stream&, const FoldedRows& x, const FoldedRows& dy, float* dweight);

 private:
  void sum_bin(std::int64_t bin);

  const Conv2dFold2d& fold_;
  Fft8 over_frequency_, over_time_;
  Conv2dTaps taps_;
  Spectrum tap_spectrum_, x_, dy_;
  Conv2dTiles tap_tile_, x_tiles_, dy_tiles_;
};

}  // namespace penstock::layers
