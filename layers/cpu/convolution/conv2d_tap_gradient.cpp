#include "layers/cpu/convolution/conv2d_tap_gradient.h"

namespace penstock::layers {
namespace {

constexpr std::int64_t kTile = Conv2dFold2d::kTile;

}  // namespace

Conv2dTapGradient::Conv2dTapGradient(const Conv2dGeometry& geometry, const Conv2dFold2d& fold,
                                     Scratch& scratch)
    : fold_(fold),
      over_frequency_(fold.length),
      over_time_(kTile),
      taps_(geometry, fold, Conv2dTaps::Order::in_out, scratch),
      tap_spectrum_(fold.bins, taps_.row_count(), taps_.groups(), scratch),
      x_(fold.bins, fold.rows, fold.in_groups, scratch),
      dy_(fold.bins, fold.rows, fold.out_groups, scratch),
      tap_tile_(1, taps_.groups(), scratch),
      x_tiles_(std::min(kConv2dBlock, fold.tiles), fold.in_groups, scratch),
      dy_tiles_(std::min(kConv2dBlock, fold.tiles), fold.out_groups, scratch) {}

void Conv2dTapGradient::add(Stream& stream, const FoldedRows& x, const FoldedRows& dy,
                            float* dweight) {
  analyse(stream, over_frequency_, x, x_);
  analyse(stream, over_frequency_, dy, dy_);
  for (std::int64_t bin = 0; bin < fold_.bins; ++bin) {
    sum_bin(bin);
    stream.progress();
  }
  synthesise(stream, over_frequency_, tap_spectrum_, taps_.rows());
  taps_.add_to(dweight, 1.0f / static_cast<float>(fold_.length * kTile));
}

// Sums products of the spectra of x and dy over all tiles of one bin. Tiles of x overlap by taps -
// 1 rows, and tiles of dy end in as many zeros, so that no tap wraps around.
void Conv2dTapGradient::sum_bin(std::int64_t bin) {
  for_each_block(fold_, [&](std::int64_t first, std::int64_t tiles) {
    for (std::int64_t i = 0; i < tiles; ++i) {
      const std::int64_t row = (first + i) * fold_.valid;
      x_tiles_.transform(over_time_, i, x_.at(bin, row), x_.row_stride, kTile);
      dy_tiles_.transform(over_time_, i, dy_.at(bin, row), dy_.row_stride, fold_.valid);
    }
    for (std::int64_t point = 0; point < kTile; ++point)
      multiply_transposed_by_conjugate({.m = taps_.outer(),
                                        .k = tiles,
                                        .n_groups = taps_.inner_groups(),
                                        .a = x_tiles_.at(point),
                                        .a_stride = x_tiles_.groups(),
                                        .b = dy_tiles_.at(point),
                                        .b_stride = dy_tiles_.groups(),
                                        .c = tap_tile_.at(point),
                                        .c_stride = taps_.inner_groups()},
                                       first > 0);
  });
  Complex8 points[kTile];
  for (std::int64_t group = 0; group < taps_.groups(); ++group) {
    tap_tile_.invert(over_time_, 0, group, points);
    for (std::int64_t row = 0; row < taps_.row_count(); ++row)
      tap_spectrum_.at(bin, row)[group] = points[row];
  }
}

}  // namespace penstock::layers
