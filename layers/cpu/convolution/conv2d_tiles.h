#pragma once

#include <cstdint>

#include "layers/cpu/convolution/conv2d_fold.h"
#include "layers/cpu/convolution/octet_fft.h"
#include "layers/scratch.h"

namespace penstock {

/// Spectra over time of up to `count` tiles of one frequency bin: point k of tile i starts at
/// data + k·point_stride + i·octets.
class Conv2dTiles {
 public:
  Conv2dTiles(std::int64_t count, std::int64_t octets, Scratch& scratch)
      : octets_(octets),
        point_stride_(odd(count * octets)),
        data_(scratch.take<Octet>(Conv2dFold2d::kTile * point_stride_)) {}

  std::int64_t octets() const { return octets_; }
  Octet* at(std::int64_t point, std::int64_t tile = 0) const {
    return data_ + point * point_stride_ + tile * octets_;
  }

  /// Tile `tile` from `count` rows, and zeros behind them.
  void transform(const OctetFft& fft, std::int64_t tile, const Octet* rows, std::int64_t row_stride,
                 std::int64_t count) const;
  /// Octet `octet` of tile `tile` back in time: all points, times their number.
  void invert(const OctetFft& fft, std::int64_t tile, std::int64_t octet, Octet* rows) const;

 private:
  std::int64_t octets_, point_stride_;
  Octet* data_;
};

}  // namespace penstock
