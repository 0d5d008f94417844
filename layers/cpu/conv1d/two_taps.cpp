#include "layers/cpu/conv1d/two_taps.h"

#include <algorithm>

// A tile is up to kTapTile groups of three outputs. Its four left factors are mixed into matrices
// with a row for each group, so each of m0 to m3 is one product for the whole tile. The products
// need no memory of their own: m1 and m2 are written to the first two rows of each group of y,
// spread() turns them into their parts of all three rows, and then m0 and m3 are added to the first
// and the third. Up to two outputs are left after the last group; they take two plain products
// each.
//
// The gradient is the transpose of this. With dy0, dy1, dy2 of a group, those of m0 to m3 are dy0,
// dy0 + dy1 + dy2, dy0 - dy1 + dy2 and dy2. Each is multiplied by its mixed rows and added to its
// sum. The weights were mixed linearly, so finish_sums() can do the rest once, after all tiles:
//   dA = sum0 + (sum1 + sum2) / 2;  dB = sum3 + (sum1 - sum2) / 2
// Outputs that are left add to sum0 and sum3, which are gradients of A and B already.

namespace penstock::layers {
namespace {

/// Calls use(first output, threes) for every tile. Returns how many outputs the tiles cover.
template <class Use>
std::int64_t for_each_tile(std::int64_t outputs, const Use& use) {
  const std::int64_t threes = outputs / 3;
  for (std::int64_t first = 0; first < threes; first += kTapTile)
    use(3 * first, std::min(kTapTile, threes - first));
  return 3 * threes;
}

/// Computes the left factors of m0 to m3 from four neighbouring rows of a.
template <class T>
void mix_rows(const std::array<const T*, 4>& a, std::int64_t channels,
              const std::array<T*, 4>& mixed) {
  const auto [a0, a1, a2, a3] = a;
  T* __restrict m0 = mixed[0];
  T* __restrict m1 = mixed[1];
  T* __restrict m2 = mixed[2];
  T* __restrict m3 = mixed[3];
  for (std::int64_t c = 0; c < channels; ++c) {
    m0[c] = a0[c] - a2[c];
    m1[c] = a1[c] + a2[c];
    m2[c] = a2[c] - a1[c];
    m3[c] = a3[c] - a1[c];
  }
}

template <class T>
void mix_tile(const TapRows<T>& a, std::int64_t first, std::int64_t threes,
              const std::array<T*, 4>& mixed) {
  for (std::int64_t i = 0; i < threes; ++i) {
    const std::int64_t j = first + 3 * i, to = i * a.channels;
    mix_rows<T>({a.row(j), a.row(j + 1), a.row(j + 2), a.row(j + 3)}, a.channels,
                {mixed[0] + to, mixed[1] + to, mixed[2] + to, mixed[3] + to});
  }
}

/// Replaces m1 and m2, which the first two rows of `y` hold, by their parts of three outputs.
template <class T>
void spread(T* y, std::int64_t stride, std::int64_t channels) {
  T* __restrict y0 = y;
  T* __restrict y1 = y + stride;
  T* __restrict y2 = y + 2 * stride;
  for (std::int64_t c = 0; c < channels; ++c) {
    const T m1 = y0[c], m2 = y1[c];
    y0[c] = y2[c] = m1 + m2;
    y1[c] = m1 - m2;
  }
}

template <class T>
void run_tile(const TwoTaps<T>& taps, std::int64_t first, std::int64_t threes) {
  mix_tile(taps.a, first, threes, taps.mixed);
  T* const y = taps.y + first * taps.stride;
  const auto multiply = [&](std::size_t which, std::int64_t output, T beta) {
    run_product(Product<T>{.m = threes,
                           .n = taps.channels,
                           .k = taps.a.channels,
                           .a = {taps.mixed[which], taps.a.channels},
                           .b = taps.weights[which],
                           .c = y + output * taps.stride,
                           .c_stride = 3 * taps.stride,
                           .beta = beta});
  };
  multiply(1, 0, 0);
  multiply(2, 1, 0);
  for (std::int64_t i = 0; i < threes; ++i)
    spread(y + 3 * i * taps.stride, taps.stride, taps.channels);
  multiply(0, 0, 1);
  multiply(3, 2, 1);
}

/// Computes one output by two products, for outputs that are left after the last three.
template <class T>
void run_single(const TwoTaps<T>& taps, std::int64_t output) {
  for (const std::int64_t tap : {0, 1})
    run_product(Product<T>{.m = 1,
                           .n = taps.channels,
                           .k = taps.a.channels,
                           .a = {taps.a.row(output + tap), taps.a.channels},
                           .b = tap == 0 ? taps.weights.front() : taps.weights.back(),
                           .c = taps.y + output * taps.stride,
                           .c_stride = taps.stride,
                           .beta = static_cast<T>(tap)});
}

/// Computes the gradients of m1 and m2 from those of three outputs: dy0 + dy1 + dy2 and dy0 - dy1 +
/// dy2.
template <class T>
void gather(const T* dy, std::int64_t stride, std::int64_t channels,
            const std::array<T*, 2>& mixed) {
  T* __restrict of_m1 = mixed[0];
  T* __restrict of_m2 = mixed[1];
  for (std::int64_t c = 0; c < channels; ++c) {
    const T outer = dy[c] + dy[2 * stride + c], middle = dy[stride + c];
    of_m1[c] = outer + middle;
    of_m2[c] = outer - middle;
  }
}

template <class T>
void add_product(const TwoTapsGradient<T>& taps, std::int64_t rows, T* sum, Factor<T> dy,
                 Factor<T> a) {
  dy.transposed = true;
  run_product(Product<T>{.m = taps.dy.channels,
                         .n = taps.a.channels,
                         .k = rows,
                         .a = dy,
                         .b = a,
                         .c = sum,
                         .c_stride = taps.a.channels,
                         .beta = 1});
}

template <class T>
void add_tile(const TwoTapsGradient<T>& taps, std::int64_t first, std::int64_t threes) {
  const TapRows<T>& dy = taps.dy;
  mix_tile(taps.a, first, threes, taps.mixed);
  for (std::int64_t i = 0; i < threes; ++i)
    gather<T>(dy.row(first + 3 * i), dy.stride, dy.channels,
              {taps.mixed_dy[0] + i * dy.channels, taps.mixed_dy[1] + i * dy.channels});
  const std::array<Factor<T>, 4> gradients = {Factor<T>{dy.row(first), 3 * dy.stride},
                                              {taps.mixed_dy[0], dy.channels},
                                              {taps.mixed_dy[1], dy.channels},
                                              {dy.row(first + 2), 3 * dy.stride}};
  for (std::size_t which = 0; which < 4; ++which)
    add_product(taps, threes, taps.sums[which], gradients[which],
                {taps.mixed[which], taps.a.channels});
}

}  // namespace

std::int64_t tap_tile(std::int64_t outputs) { return std::min(kTapTile, outputs / 3); }

template <class T>
void mix_weights(const TapWeights<T>& weights, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const T a = weights[0][i], b = weights[3][i];
    weights[1][i] = (a + b) / 2;
    weights[2][i] = (a - b) / 2;
  }
}

template <class T>
void finish_sums(const TapWeights<T>& sums, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const T m1 = sums[1][i], m2 = sums[2][i];
    sums[0][i] += (m1 + m2) / 2;
    sums[3][i] += (m1 - m2) / 2;
  }
}

template <class T>
void run_two_taps(Stream& stream, const TwoTaps<T>& taps) {
  const std::int64_t done = for_each_tile(taps.count, [&](std::int64_t first, std::int64_t threes) {
    stream.progress();
    run_tile(taps, first, threes);
  });
  for (std::int64_t output = done; output < taps.count; ++output) run_single(taps, output);
}

template <class T>
void add_two_taps_gradient(Stream& stream, const TwoTapsGradient<T>& taps) {
  const TapRows<T>&a = taps.a, &dy = taps.dy;
  const std::int64_t done = for_each_tile(dy.count, [&](std::int64_t first, std::int64_t threes) {
    stream.progress();
    add_tile(taps, first, threes);
  });
  const std::int64_t left = dy.count - done;
  if (left == 0) return;
  const Factor<T> gradient{dy.row(done), dy.stride};
  add_product(taps, left, taps.sums[0], gradient, {a.row(done), a.stride});
  add_product(taps, left, taps.sums[3], gradient, {a.row(done + 1), a.stride});
}

template void mix_weights(const TapWeights<float>&, std::int64_t);
template void mix_weights(const TapWeights<double>&, std::int64_t);
template void finish_sums(const TapWeights<float>&, std::int64_t);
template void finish_sums(const TapWeights<double>&, std::int64_t);
template void run_two_taps(Stream&, const TwoTaps<float>&);
template void run_two_taps(Stream&, const TwoTaps<double>&);
template void add_two_taps_gradient(Stream&, const TwoTapsGradient<float>&);
template void add_two_taps_gradient(Stream&, const TwoTapsGradient<double>&);

}  // namespace penstock::layers
