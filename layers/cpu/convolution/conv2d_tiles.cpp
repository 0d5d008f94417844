#include "layers/cpu/convolution/conv2d_tiles.h"

#include <algorithm>

namespace penstock {

void Conv2dTiles::transform(const OctetFft& fft, std::int64_t tile, const Octet* rows,
                            std::int64_t row_stride, std::int64_t count) const {
  constexpr std::int64_t kAhead = 2;  // octets: rows lie too far apart for the processor to foresee
  Octet padded[Conv2dFold2d::kTile] = {};
  const bool whole = count == Conv2dFold2d::kTile;
  for (std::int64_t octet = 0; octet < octets_; ++octet) {
    for (std::int64_t i = 0; i < count; ++i)
      __builtin_prefetch(rows + i * row_stride + octet + kAhead);
    if (whole) {
      fft.forward(rows + octet, row_stride, at(0, tile) + octet, point_stride_);
      continue;
    }
    for (std::int64_t i = 0; i < count; ++i) padded[i] = rows[i * row_stride + octet];
    fft.forward(padded, 1, at(0, tile) + octet, point_stride_);
  }
}

void Conv2dTiles::invert(const OctetFft& fft, std::int64_t tile, std::int64_t octet,
                         Octet* rows) const {
  fft.inverse(at(0, tile) + octet, point_stride_, rows, 1);
}

}  // namespace penstock
