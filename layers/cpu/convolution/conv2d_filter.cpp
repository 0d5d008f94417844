#include "layers/cpu/convolution/conv2d_filter.h"

// The convolution takes Fourier transforms over both axes. Over frequency whole frames are
// transformed, and over time tiles of kTile frames, since a line of utterances is long and the
// kernel short:
//   1. analyse() takes each row of the taps and of the frames to the bins of a frequency transform.
//      The numbers are real, so bins 0 to length / 2 suffice.
//   2. Within a bin, time remains. Each tile is transformed to kTile points, and in each point the
//      convolution is a complex product of [tiles, in channels] and [in channels, out channels].
//   3. The tiles are transformed back, and overwrite the bin's frames.
//   4. synthesise() takes the bins back to frequencies.
// Neither inverse transform divides by its length. The taps are scaled by 1 / (length · kTile)
// instead, because they are the fewest numbers.
//
// A tile costs kTile products for `valid` outputs, whatever the kernel, besides the transforms.
// Direct convolution costs one for each tap and output, so this wins for large kernels
// (conv2d_fft::suits).

namespace penstock::layers {
namespace {

constexpr std::int64_t kTile = Conv2dFold2d::kTile;

}  // namespace

Conv2dFilter::Conv2dFilter(const Conv2dGeometry& geometry, const Conv2dFold2d& fold,
                           Conv2dTaps::Order order, Scratch& scratch)
    : fold_(fold),
      over_frequency_(fold.length),
      over_time_(kTile),
      taps_(geometry, fold, order, scratch),
      tap_spectrum_(fold.bins, taps_.row_count(), taps_.groups(), scratch),
      frames_(fold.bins, fold.rows, std::max(fold.in_groups, fold.out_groups), scratch),
      tap_tile_(1, taps_.groups(), scratch),
      from_(std::min(kConv2dBlock, fold.tiles),
            order == Conv2dTaps::Order::in_out ? fold.in_groups : fold.out_groups, scratch),
      to_(std::min(kConv2dBlock, fold.tiles), taps_.inner_groups(), scratch),
      overlap_(scratch.take<Complex8>((fold.time.taps - 1) * taps_.inner_groups())) {}

void Conv2dFilter::correlate(Stream& stream, const float* weight, const FoldedRows& from,
                             const FoldedRows& to) {
  run(stream, weight, from, to, &Conv2dFilter::correlate_bin);
}

void Conv2dFilter::spread(Stream& stream, const float* weight, const FoldedRows& from,
                          const FoldedRows& to) {
  run(stream, weight, from, to, &Conv2dFilter::spread_bin);
}

void Conv2dFilter::run(Stream& stream, const float* weight, const FoldedRows& from,
                       const FoldedRows& to, void (Conv2dFilter::*filter)(std::int64_t bin)) {
  taps_.gather(weight, 1.0f / static_cast<float>(fold_.length * kTile));
  analyse(stream, over_frequency_, taps_.rows(), tap_spectrum_);
  analyse(stream, over_frequency_, from, frames_);
  for (std::int64_t bin = 0; bin < fold_.bins; ++bin) {
    tap_tile_.transform(over_time_, 0, tap_spectrum_.at(bin, 0), tap_spectrum_.row_stride,
                        fold_.time.taps);
    (this->*filter)(bin);
    stream.progress();
  }
  synthesise(stream, over_frequency_, frames_, to);
}

Complex8Product Conv2dFilter::product(std::int64_t point, std::int64_t tiles) const {
  return {.m = tiles,
          .k = taps_.outer(),
          .n_groups = taps_.inner_groups(),
          .a = from_.at(point),
          .a_stride = from_.groups(),
          .b = tap_tile_.at(point),
          .b_stride = taps_.inner_groups(),
          .c = to_.at(point),
          .c_stride = to_.groups()};
}

// Correlates by overlap-save. Only the first `valid` points of each tile are right: for the others,
// taps wrap around the circle of kTile points. Tiles overwrite only rows that no later tile reads.
void Conv2dFilter::correlate_bin(std::int64_t bin) {
  const std::int64_t stride = frames_.row_stride;
  for_each_block(fold_, [&](std::int64_t first, std::int64_t tiles) {
    for (std::int64_t i = 0; i < tiles; ++i)
      from_.transform(over_time_, i, frames_.at(bin, (first + i) * fold_.valid), stride, kTile);
    for (std::int64_t point = 0; point < kTile; ++point)
      multiply_by_conjugate(product(point, tiles));
    Complex8 points[kTile];
    for (std::int64_t i = 0; i < tiles; ++i)
      for (std::int64_t group = 0; group < to_.groups(); ++group) {
        to_.invert(over_time_, i, group, points);
        Complex8* rows = frames_.at(bin, (first + i) * fold_.valid) + group;
        for (std::int64_t r = 0; r < fold_.valid; ++r) rows[r * stride] = points[r];
      }
  });
}

// Spreads by overlap-add. The `valid` rows of dy of a tile reach taps - 1 rows of dx into the next
// tile, to which these are added.
void Conv2dFilter::spread_bin(std::int64_t bin) {
  const std::int64_t stride = frames_.row_stride, reach = kTile - fold_.valid;
  std::fill_n(overlap_, reach * to_.groups(), Complex8{});
  for_each_block(fold_, [&](std::int64_t first, std::int64_t tiles) {
    for (std::int64_t i = 0; i < tiles; ++i)
      from_.transform(over_time_, i, frames_.at(bin, (first + i) * fold_.valid), stride,
                      fold_.valid);
    for (std::int64_t point = 0; point < kTile; ++point) multiply(product(point, tiles));
    Complex8 points[kTile];
    for (std::int64_t i = 0; i < tiles; ++i)
      for (std::int64_t group = 0; group < to_.groups(); ++group) {
        to_.invert(over_time_, i, group, points);
        Complex8* tail = overlap_ + group * reach;
        for (std::int64_t r = 0; r < reach; ++r) points[r] = points[r] + tail[r];
        Complex8* rows = frames_.at(bin, (first + i) * fold_.valid) + group;
        for (std::int64_t r = 0; r < fold_.valid; ++r) rows[r * stride] = points[r];
        std::copy_n(points + fold_.valid, reach, tail);
      }
  });
  for (std::int64_t group = 0; group < to_.groups(); ++group)
    for (std::int64_t r = 0; r < reach; ++r)
      frames_.at(bin, fold_.tiles * fold_.valid + r)[group] = overlap_[group * reach + r];
}

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
