#include "layers/cpu/convolution/conv2d_tiles.h"

#include <algorithm>

namespace penstock::layers {

// Whole tiles are transformed from where they lie. Shorter ones are copied first, to have zeros
// after them.
void Conv2dTiles::transform(const Fft8& fft, std::int64_t tile, const Complex8* rows,
                            std::int64_t row_stride, std::int64_t count) const {
  constexpr std::int64_t kAhead =
      2;  // in groups: rows are too far apart for the hardware prefetcher
  Complex8 padded[Conv2dFold2d::kTile] = {};
  const bool whole = count == Conv2dFold2d::kTile;
  for (std::int64_t group = 0; group < groups_; ++group) {
    for (std::int64_t i = 0; i < count; ++i)
      __builtin_prefetch(rows + i * row_stride + group + kAhead);
    if (whole) {
      fft.forward(rows + group, row_stride, at(0, tile) + group, point_stride_);
      continue;
    }
    for (std::int64_t i = 0; i < count; ++i) padded[i] = rows[i * row_stride + group];
    fft.forward(padded, 1, at(0, tile) + group, point_stride_);
  }
}

void Conv2dTiles::invert(const Fft8& fft, std::int64_t tile, std::int64_t group,
                         Complex8* rows) const {
  fft.inverse(at(0, tile) + group, point_stride_, rows, 1);
}

}  // namespace penstock::layers
