#pragma once

#include <array>
#include <cstdint>

#include "layers/backend.h"
#include "layers/cpu/products/product.h"

namespace penstock::layers {

// Two taps over neighbouring rows, y[j] = a[j] · A + a[j + 1] · B, by Winograd's minimal filtering
// F(3, 2) (Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2016): three outputs
// take four products instead of six.
//   m0 = (a[j] - a[j + 2]) · A                 y[j]     = m0 + m1 + m2
//   m1 = (a[j + 1] + a[j + 2]) · (A + B) / 2   y[j + 1] = m1 - m2
//   m2 = (a[j + 2] - a[j + 1]) · (A - B) / 2   y[j + 2] = m1 + m2 + m3
//   m3 = (a[j + 3] - a[j + 1]) · B

/// Threes of outputs that are computed together: rows of what is mixed from a.
inline constexpr std::int64_t kTapTile = 512;

/// Rows of `channels` numbers, `stride` apart. Row 0 is the first of `data`, or one of zeros where
/// `zeros_before`; rows behind the last of `count` are zeros as well.
template <class T>
struct TapRows {
  const T* row(std::int64_t j) const {
    const std::int64_t place = j - (zeros_before ? 1 : 0);
    return place < 0 || place >= count ? zeros : data + place * stride;
  }
  const T* data = nullptr;
  std::int64_t stride = 0, count = 0, channels = 0;
  bool zeros_before = false;
  const T* zeros = nullptr;  // [channels]; needed where such a row is read
};

/// A, (A + B) / 2, (A - B) / 2 and B: what m0, m1, m2 and m3 are multiplied by.
template <class T>
using TapWeights = std::array<T*, 4>;

/// Fills the two middle ones from the outer ones, `count` numbers each.
template <class T>
void mix_weights(const TapWeights<T>& weights, std::int64_t count);

/// y[j] = a[j] · op(A) + a[j + 1] · op(B) for j < count, overwritten.
template <class T>
struct TwoTaps {
  TapRows<T> a;
  std::array<Factor<T>, 4> weights;  // op(each) is [a.channels, channels]
  T* y;
  std::int64_t stride, count, channels;  // of y
  std::array<T*, 4> mixed;               // scratch: [tap_tile(count), a.channels] each
};
template <class T>
void run_two_taps(Stream& stream, const TwoTaps<T>& taps);

/// Adds Σ_j dy[j]^T · a[j] and Σ_j dy[j]^T · a[j + 1] to four sums, which are m0's to m3's. After
/// the last call finish_sums() turns the outer ones into A's and B's.
template <class T>
struct TwoTapsGradient {
  TapRows<T> a, dy;            // dy.count rows of dy, one more of a
  TapWeights<T> sums;          // [dy.channels, a.channels] each
  std::array<T*, 4> mixed;     // scratch: [tap_tile(dy.count), a.channels] each
  std::array<T*, 2> mixed_dy;  // scratch: [tap_tile(dy.count), dy.channels] each
};
template <class T>
void add_two_taps_gradient(Stream& stream, const TwoTapsGradient<T>& taps);
template <class T>
void finish_sums(const TapWeights<T>& sums, std::int64_t count);

/// Threes of a tile where there are so many outputs.
std::int64_t tap_tile(std::int64_t outputs);

}  // namespace penstock::layers
