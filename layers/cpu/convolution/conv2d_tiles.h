#pragma once

#include <cstdint>

#include "layers/cpu/convolution/conv2d_fold.h"
#include "layers/cpu/convolution/fft8.h"
#include "layers/scratch.h"

namespace penstock::layers {

/// Spectra over time of up to `count` tiles of one frequency bin. Point k of tile i starts at data
/// + k·point_stride + i·groups.
class Conv2dTiles {
 public:
  Conv2dTiles(std::int64_t count, std::int64_t groups, Scratch& scratch)
      : groups_(groups),
        point_stride_(odd(count * groups)),
        data_(scratch.take<Complex8>(Conv2dFold2d::kTile * point_stride_)) {}

  std::int64_t groups() const { return groups_; }
  Complex8* at(std::int64_t point, std::int64_t tile = 0) const {
    return data_ + point * point_stride_ + tile * groups_;
  }

  /// Transforms `count` rows, with zeros after them, into tile `tile`.
  void transform(const Fft8& fft, std::int64_t tile, const Complex8* rows, std::int64_t row_stride,
                 std::int64_t count) const;
  /// Transforms group `group` of tile `tile` back to time. The result is not divided by the number
  /// of points.
  void invert(const Fft8& fft, std::int64_t tile, std::int64_t group, Complex8* rows) const;

 private:
  std::int64_t groups_, point_stride_;
  Complex8* data_;
};

}  // namespace penstock::layers
