#pragma once

#include <array>
#include <cstdint>

#include "layers/backend.h"
#include "layers/cpu/products/product.h"

namespace penstock::layers {

// Computes two taps over neighbouring rows, y[j] = a[j] · A + a[j + 1] · B. It uses Winograd's
// minimal filtering F(3, 2) (Lavin and Gray, Fast Algorithms for Convolutional Neural Networks,
// 2016). Three outputs take four products instead of six:
//   m0 = (a[j] - a[j + 2]) · A                 y[j]     = m0 + m1 + m2
//   m1 = (a[j + 1] + a[j + 2]) · (A + B) / 2   y[j + 1] = m1 - m2
//   m2 = (a[j + 2] - a[j + 1]) · (A - B) / 2   y[j + 2] = m1 + m2 + m3
//   m3 = (a[j + 3] - a[j + 1]) · B

/// Groups of three outputs that are computed together: the rows of each mixed matrix.
inline constexpr std::int64_t kTapTile = 512;

/// Rows of `channels` numbers, `stride` apart. Row 0 is the first of `data`, or a row of zeros if
/// `zeros_before`. Rows after the last of `count` are zeros too.
template <class T>
struct TapRows {
  const T* row(std::int64_t j) const {
    const std::int64_t place = j - (zeros_before ? 1 : 0);
    return place < 0 || place >= count ? zeros : data + place * stride;
  }
  const T* data = nullptr;
  std::int64_t stride = 0, count = 0, channels = 0;
  bool zeros_before = false;
  const T* zeros = nullptr;  // [channels]; needed if such a row is read
};

/// The right factors of m0, m1, m2 and m3: A, (A + B) / 2, (A - B) / 2 and B.
template <class T>
using TapWeights = std::array<T*, 4>;

/// Fills the two middle weights from the outer ones, `count` numbers each.
template <class T>
void mix_weights(const TapWeights<T>& weights, std::int64_t count);

/// Arguments of run_two_taps(), which sets y[j] = a[j] · op(A) + a[j + 1] · op(B) for j < count.
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

/// Arguments of add_two_taps_gradient(), which adds Σ_j dy[j]^T · a[j] and Σ_j dy[j]^T · a[j + 1]
/// as four sums, of m0 to m3. After the last call finish_sums() turns the outer sums into the
/// gradients of A and B.
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

/// Returns the groups of three in a tile if there are so many outputs.
std::int64_t tap_tile(std::int64_t outputs);

}  // namespace penstock::layers
