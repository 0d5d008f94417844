#include <type_traits>

#include "layers/cuda/attention/attention.h"
#include "layers/cuda/attention/attention_halves_launch.h"
#include "layers/cuda/attention/attention_products.h"
#include "layers/cuda/attention/attention_tile.h"
#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/core/launch.h"
#include "layers/cuda/core/reduce.h"

namespace penstock::layers {
namespace cuda {
namespace {

/// Combines `value` over the 16 threads of a tile's row. Each of them gets the result.
template <class Combine>
__device__ float combine_row(float value, Combine combine) {
  for (int distance = kAttentionTile / 2; distance > 0; distance /= 2)
    value = combine(value, shuffle_xor(value, distance));
  return value;
}

/// Online softmax of a row over the tiles so far (Milakov & Gimelshein 2018). `largest` is the max
/// score m, and `sum` is l = Σ e^(s - m). A tile with a larger max m' rescales everything summed so
/// far by e^(m - m').
struct RunningSoftmax {
  float largest = -INFINITY, sum = 0;

  /// Adds one score of each thread of the row. Returns e^(s - m'), and sets `factor` to e^(m - m'),
  /// by which the caller multiplies its sums so far.
  __device__ float add(float score, float& factor) {
    const float m = fmaxf(largest, combine_row(score, Largest()));
    factor = largest == -INFINITY ? 0.0f : expf(largest - m);
    const float e = score == -INFINITY ? 0.0f : expf(score - m);
    sum = sum * factor + combine_row(e, Sum());
    largest = m;
    return e;
  }
};

/// Attention of a tile of 16 queries in FP32, as in FlashAttention (Dao et al. 2022). Block (tile,
/// head) has 16 × 16 threads and loops over the 16-key tiles that the window lets its queries see.
///
/// Thread (r, c) computes the score of query r and key c, and joins the online softmax of row r.
/// Then it adds the tile's weighted values to channels c, c + 16, … of row r, in registers. The
/// sums are divided by l once, at the end. No score reaches device memory: beside y, only a
/// log-sum-exp per row is stored, which backward needs. A query tile reads each key and value once,
/// and takes 33 KiB of static shared memory.
template <class T>
__global__ void attend(AttentionInput<T> in, T* y_FC) {
  BLOCK_SHARED(float, queries, [kAttentionTile][kTilePitch]);
  BLOCK_SHARED(float, positioned, [kAttentionTile][kTilePitch]);
  BLOCK_SHARED(float, others, [kBandRows][kTilePitch]);  // k, then r, then v
  BLOCK_SHARED(float, weights, [kAttentionTile][kAttentionTile + 1]);
  const AttentionHead<T> of{in, in.tiles[block_x()], static_cast<int>(block_y())};
  const int r = tile_row(), c = tile_column(), d = in.width;
  const std::int64_t i = of.tile.first + r;
  load_queries(of, queries, positioned);
  RunningSoftmax softmax;
  OwnChannels sums;
  const TileRange seen = keys_seen_by(in, of.tile);
  for (std::int64_t key = seen.first; key < seen.end; key += kAttentionTile) {
    __syncthreads();
    const float score = score_of(of, {queries, positioned}, key, others);
    float factor;
    const float e = softmax.add(of.sees(i, key + c) ? score : -INFINITY, factor);
    weights[r][c] = e == 0 ? 0.0f : e * of.kept(i, key + c);
    load_frames(of, AttentionPart::value, nullptr, key, kAttentionTile, others);
    __syncthreads();
    sums.multiply(factor);
    sums.add(d, others, [&](int k) { return weights[r][k]; });
  }
  if (i >= of.tile.frames) return;
  sums.multiply(1 / softmax.sum);
  T* const y = y_FC + of.element(i, in.channels);
  for (int n = 0, channel = c; channel < d; ++n, channel += kAttentionTile)
    y[channel] = from_float<T>(sums.values[n]);
  if (in.log_sums_HF != nullptr && c == 0) *of.log_sum(i) = softmax.largest + logf(softmax.sum);
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const AttentionForward& op) {
  auto& own = static_cast<CudaStream&>(stream);
  cuda::with_type_of(op.qkv_FP, "AttentionForward", [&]<class T>(T) {
    const cuda::PreparedAttention prepared(own, op, false);
    if (prepared.by_products()) return cuda::attend_by_products(own, products_, op, prepared);
    const auto in = prepared.input<T>(op);
    T* const y_FC = cuda::data_of<T>(op.y_FC);
    if constexpr (std::is_same_v<T, float>) {
      cuda::launch(own.handle(), prepared.grid(), cuda::attend<T>, in, y_FC);
    } else {
      cuda::fill_halves_biases(own, in, prepared.room());
      cuda::launch_halves_forward(own, prepared.grid(), in, y_FC);
    }
  });
}

}  // namespace penstock::layers
