#pragma once

#include <algorithm>
#include <cstdint>

#include "layers/cpu/convolution/complex8.h"
#include "layers/cpu/convolution/conv2d_fold.h"
#include "layers/cpu/convolution/conv2d_spectrum.h"
#include "layers/cpu/convolution/conv2d_taps.h"
#include "layers/cpu/convolution/conv2d_tiles.h"

namespace penstock::layers {

/// Tiles whose spectra are worked on at a time: few enough to stay in cache.
inline constexpr std::int64_t kConv2dBlock = 16;

/// Calls use(first tile, tiles) for each block of the line.
template <class Use>
void for_each_block(const Conv2dFold2d& fold, const Use& use) {
  for (std::int64_t first = 0; first < fold.tiles; first += kConv2dBlock)
    use(first, std::min(kConv2dBlock, fold.tiles - first));
}

/// Filters the frames of a line by the taps of a weight: forward with the order in_out, and the
/// input's gradient with out_in. The output's spectra overwrite those of the input.
class Conv2dFilter {
 public:
  Conv2dFilter(const Conv2dGeometry& geometry, const Conv2dFold2d& fold, Conv2dTaps::Order order,
               Scratch& scratch);

  /// Computes y (`to`) from x (`from`). Each output is the sum of the taps times the slots from it
  /// on.
  void correlate(Stream&, const float* weight, const FoldedRows& from, const FoldedRows& to);
  /// Computes dx (`to`) from dy (`from`). Each number of dy, times the taps, is added to the slots
  /// from it on.
  void spread(Stream&, const float* weight, const FoldedRows& from, const FoldedRows& to);

 private:
  void run(Stream&, const float* weight, const FoldedRows& from, const FoldedRows& to,
           void (Conv2dFilter::*filter)(std::int64_t bin));
  Complex8Product product(std::int64_t point, std::int64_t tiles) const;
  void correlate_bin(std::int64_t bin);
  void spread_bin(std::int64_t bin);

  const Conv2dFold2d& fold_;
  Fft8 over_frequency_, over_time_;
  Conv2dTaps taps_;
  Spectrum tap_spectrum_, frames_;
  Conv2dTiles tap_tile_, from_, to_;
  Complex8* overlap_;
};

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
