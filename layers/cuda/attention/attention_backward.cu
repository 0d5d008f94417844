#include <type_traits>

#include "layers/cuda/attention/attention.h"
#include "layers/cuda/attention/attention_halves_launch.h"
#include "layers/cuda/attention/attention_products.h"
#include "layers/cuda/core/cuda_backend.h"

// Backward of attention in FP32, after FlashAttention-2 (Dao 2023): the weights are recomputed from
// the saved log-sum-exp, so that no matrix of scores reaches device memory.
//
// First delta_i = dy_i · y_i is computed for every frame and head, that is rowsum(dO ∘ O). Then one
// kernel per result follows: queries_backward for dq, keys_backward for dk and dv, and
// distances_backward for dr. Each owns a tile of 16 results and loops
// over the 16-row tiles of the other side that it can meet. Each kernel thus recomputes
// the scores, but none needs atomic additions: every sum has a fixed order, and equal inputs give
// equal bits.
//
// A block has 16 × 16 threads. Thread (r, c) computes the score and ds of one pair, then every 16th
// channel of one row of a gradient. queries_backward takes 41 KiB of static shared memory.

namespace penstock::layers {
namespace cuda {
namespace {

struct DistanceGradients {
  float* dr_XC;
  std::int64_t tile_count;  // tiles of frames, over all utterances
};

/// Stores dk, rotated back, and dv of the tile's frames.
template <class T>
__device__ void store_keys(const AttentionHead<T>& of, const TileRow* dk_rows,
                           const OwnChannels& of_value, T* dqkv_FP) {
  const std::int64_t j = of.tile.first + tile_row();
  if (j >= of.tile.frames) return;
  T* const dk = dqkv_FP + of.element(j, AttentionPart::key);
  T* const dv = dk + of.in.key_channels();
  for (int n = 0, c = tile_column(); c < of.in.width; ++n, c += kAttentionTile) {
    dk[c] = from_float<T>(rotated_back(of, dk_rows, j, c));
    dv[c] = from_float<T>(of_value.values[n]);
  }
}

/// Computes dk and dv of a tile of 16 keys in FP32. Block (tile, head of k) takes the heads of q
/// that share its k one after the other. Thread (r, c) computes the score of query r and key c.
/// Then it sums into row r of dk and dv, which belongs to key r.
template <class T>
__global__ void keys_backward(AttentionInput<T> in, AttentionOutputs<T> out) {
  BLOCK_SHARED(float, keys, [kAttentionTile][kTilePitch]);
  BLOCK_SHARED(float, values, [kAttentionTile][kTilePitch]);
  BLOCK_SHARED(float, rows, [kAttentionTile][kTilePitch]);  // q + v, then q + u, dy, q + u again
  BLOCK_SHARED(float, distances, [kBandRows][kTilePitch]);
  BLOCK_SHARED(float, weights, [kAttentionTile][kAttentionTile + 1]);
  BLOCK_SHARED(float, ds, [kAttentionTile][kAttentionTile + 1]);
  AttentionHead<T> of{in, in.tiles[block_x()], static_cast<int>(block_y()) * in.group};
  const int r = tile_row(), c = tile_column(), d = in.width, first_head = of.head;
  const std::int64_t first = of.tile.first;
  load_frames(of, AttentionPart::key, nullptr, first, kAttentionTile, keys);
  load_frames(of, AttentionPart::value, nullptr, first, kAttentionTile, values);
  OwnChannels of_key, of_value;
  const TileRange queries = queries_seeing(in, of.tile);
  const std::int64_t tiles = (queries.end - queries.first + kAttentionTile - 1) / kAttentionTile;
  for (std::int64_t i = 0; i < tiles * in.group; ++i) {
    of.head = first_head + static_cast<int>(i / tiles);
    const std::int64_t query = queries.first + i % tiles * kAttentionTile;
    __syncthreads();
    float score = 0;
    if (in.r_XC != nullptr) {
      load_frames(of, AttentionPart::query, in.v_C, query, kAttentionTile, rows);
      load_distances(of, first_distance(in, query, first), kBandRows, distances);
      __syncthreads();
      score = dot(rows[r], distances[kAttentionTile - 1 - r + c], d);
      __syncthreads();
    }
    load_frames(of, AttentionPart::query, in.u_C, query, kAttentionTile, rows);
    __syncthreads();
    score += dot(rows[r], keys[c], d);
    __syncthreads();
    load_outputs(of, out.dy_FC, query, rows);
    __syncthreads();
    const float d_weight = dot(rows[r], values[c], d);
    ds[r][c] =
        of.score_gradient(out.delta_HF, query + r, first + c, score, d_weight, weights[r][c]);
    __syncthreads();
    of_value.add(d, rows, [&](int k) { return weights[k][r]; });
    __syncthreads();
    load_frames(of, AttentionPart::query, in.u_C, query, kAttentionTile, rows);
    __syncthreads();
    of_key.add(d, rows, [&](int k) { return ds[k][r]; });
  }
  __syncthreads();
  of_key.store(d, keys);
  __syncthreads();
  store_keys(of, keys, of_value, out.dqkv_FP);
}

/// Computes dr of a tile of 16 distances in FP32. Block (tile of distances, head) loops over all
/// query tiles of the micro-batch and skips those that meet no key at its distances. Thread (r, c)
/// takes distance c of the tile, and so the pair of frame first + r and key first_key + r + c.
template <class T>
__global__ void distances_backward(AttentionInput<T> in, AttentionOutputs<T> out,
                                   DistanceGradients to) {
  BLOCK_SHARED(float, distances, [kAttentionTile][kTilePitch]);
  BLOCK_SHARED(float, rows, [kAttentionTile][kTilePitch]);  // q + v, then q + u, dy, q + v again
  BLOCK_SHARED(float, others, [kBandRows][kTilePitch]);     // k, then v
  BLOCK_SHARED(float, ds, [kAttentionTile][kAttentionTile + 1]);
  const int r = tile_row(), c = tile_column(), d = in.width, head = static_cast<int>(block_y());
  const std::int64_t x = block_x() * kAttentionTile;
  load_distances(AttentionHead<T>{in, in.tiles[0], head}, x, kAttentionTile, distances);
  OwnChannels of_distance;
  for (std::int64_t tile = 0; tile < to.tile_count; ++tile) {
    const AttentionHead<T> of{in, in.tiles[tile], head};
    const std::int64_t first = of.tile.first, first_key = first - (in.longest - 1 - x);
    if (first_key >= of.tile.frames || first_key + kBandRows <= 0) continue;
    __syncthreads();
    load_frames(of, AttentionPart::query, in.v_C, first, kAttentionTile, rows);
    __syncthreads();
    float score = dot(rows[r], distances[c], d), p;
    __syncthreads();
    load_frames(of, AttentionPart::query, in.u_C, first, kAttentionTile, rows);
    load_frames(of, AttentionPart::key, nullptr, first_key, kBandRows, others);
    __syncthreads();
    score += dot(rows[r], others[r + c], d);
    __syncthreads();
    load_outputs(of, out.dy_FC, first, rows);
    load_frames(of, AttentionPart::value, nullptr, first_key, kBandRows, others);
    __syncthreads();
    const float d_weight = dot(rows[r], others[r + c], d);
    ds[r][c] = of.score_gradient(out.delta_HF, first + r, first_key + r + c, score, d_weight, p);
    __syncthreads();
    load_frames(of, AttentionPart::query, in.v_C, first, kAttentionTile, rows);
    __syncthreads();
    of_distance.add(d, rows, [&](int k) { return ds[k][r]; });
  }
  if (x + r >= 2 * in.longest - 1) return;
  float* const dr = to.dr_XC + (x + r) * in.channels + head * d;
  for (int n = 0, channel = c; channel < d; ++n, channel += kAttentionTile)
    dr[channel] = of_distance.values[n];
}

template <class T>
void launch_keys_backward(CudaStream& stream, const Grid& grid, const AttentionInput<T>& in,
                          const AttentionOutputs<T>& out) {
  launch(stream.handle(), grid, keys_backward<T>, in, out);
}

template <class T>
void launch_distances_backward(CudaStream& stream, const Grid& grid, const AttentionInput<T>& in,
                               const AttentionOutputs<T>& out, const DistanceGradients& to) {
  launch(stream.handle(), grid, distances_backward<T>, in, out, to);
}

/// Computes delta = dy · y of each frame and head. One thread for each.
template <class T>
__global__ void compute_delta(AttentionInput<T> in, AttentionOutputs<T> out) {
  const std::int64_t i = grid_thread();
  if (i >= in.rows * in.heads) return;
  const std::int64_t row = i / in.heads, head = i % in.heads;
  const std::int64_t first = row * in.channels + head * in.width;
  float sum = 0;
  for (std::int64_t c = first; c < first + in.width; ++c)
    sum += to_float(out.dy_FC[c]) * to_float(out.y_FC[c]);
  out.delta_HF[head * in.rows + row] = sum;
}

/// Stores the column sums of a tile's rows as the tile's share of du (`which` = 0) or dv (`which` =
/// 1).
template <class T>
__device__ void store_bias_gradients(const AttentionHead<T>& of, const TileRow* rows, int which,
                                     float* bias_gradients) {
  float* const to =
      bias_gradients + (block_x() * 2 + which) * of.in.channels + of.head * of.in.width;
  for (int c = thread_x(); c < of.in.width; c += block_threads()) {
    float sum = 0;
    for (int row = 0; row < kAttentionTile; ++row) sum += rows[row][c];
    to[c] = sum;
  }
}

/// Computes dq of the tile's frames, and the tile's shares of du and dv. Block (tile, head).
template <class T>
__global__ void queries_backward(AttentionInput<T> in, AttentionOutputs<T> out) {
  BLOCK_SHARED(float, queries, [kAttentionTile][kTilePitch]);
  BLOCK_SHARED(float, positioned, [kAttentionTile][kTilePitch]);
  BLOCK_SHARED(float, gradients, [kAttentionTile][kTilePitch]);
  BLOCK_SHARED(float, others, [kBandRows][kTilePitch]);  // k, then r, then v, then k and r again
  BLOCK_SHARED(float, ds, [kAttentionTile][kAttentionTile + 1]);
  const AttentionHead<T> of{in, in.tiles[block_x()], static_cast<int>(block_y())};
  const bool relative = in.r_XC != nullptr;
  const int r = tile_row(), c = tile_column(), d = in.width;
  const std::int64_t first = of.tile.first, i = first + r;
  load_queries(of, queries, positioned);
  load_outputs(of, out.dy_FC, first, gradients);
  OwnChannels by_content, by_position;
  const auto ds_of_row = [&](int k) { return ds[r][k]; };
  const TileRange seen = keys_seen_by(in, of.tile);
  for (std::int64_t key = seen.first; key < seen.end; key += kAttentionTile) {
    __syncthreads();
    const float score = score_of(of, {queries, positioned}, key, others);
    load_frames(of, AttentionPart::value, nullptr, key, kAttentionTile, others);
    __syncthreads();
    const float d_weight = dot(gradients[r], others[c], d);
    float p;
    ds[r][c] = of.score_gradient(out.delta_HF, i, key + c, score, d_weight, p);
    __syncthreads();
    load_frames(of, AttentionPart::key, nullptr, key, kAttentionTile, others);
    __syncthreads();
    by_content.add(d, others, ds_of_row);
    if (!relative) continue;
    __syncthreads();
    load_distances(of, first_distance(in, first, key), kBandRows, others);
    __syncthreads();
    by_position.add(d, others + kAttentionTile - 1 - r, ds_of_row);
  }
  by_content.multiply(in.scale);
  by_position.multiply(in.scale);
  __syncthreads();
  by_content.store(d, queries);
  by_position.store(d, positioned);
  __syncthreads();
  if (relative) {
    store_bias_gradients(of, queries, 0, out.bias_gradients);
    store_bias_gradients(of, positioned, 1, out.bias_gradients);
  }
  if (out.dqkv_FP == nullptr || i >= of.tile.frames) return;
  T* const dq = out.dqkv_FP + of.element(i, AttentionPart::query);
  for (int channel = c; channel < d; channel += kAttentionTile)
    dq[channel] = from_float<T>(rotated_back(of, queries, i, channel) +
                                (relative ? positioned[r][channel] : 0.0f));
}

/// Per-tile shares of a bias's gradient: C numbers for each tile, which start `pitch` numbers
/// apart.
struct TileShares {
  const float* first;
  std::int64_t tiles, pitch;
};

/// Adds up the shares in the order of the tiles, in FP64. One thread per channel.
__global__ void add_shares(TileShares of, int channels, float* to_C) {
  const std::int64_t c = grid_thread();
  if (c >= channels) return;
  double sum = 0;
  for (std::int64_t tile = 0; tile < of.tiles; ++tile) sum += of.first[tile * of.pitch + c];
  to_C[c] = static_cast<float>(sum);
}

/// Launches the kernels of one backward pass.
template <class T>
struct BackwardLaunches {
  CudaStream& stream;
  const AttentionBackward& op;
  const PreparedAttention& prepared;
  const AttentionInput<T>& in;
  const AttentionOutputs<T>& out;

  Grid distances_grid() const { return prepared.grid(prepared.room().distance_tile_count); }
  void add(const TileShares& shares, const Tensor& to_C) const {
    launch(stream.handle(), grid_over(in.channels), add_shares, shares, in.channels,
           data_of<float>(to_C));
  }

  void by_fma() const {
    launch(stream.handle(), prepared.grid(), queries_backward<T>, in, out);
    if (out.dqkv_FP != nullptr) launch_keys_backward(stream, prepared.keys_grid(), in, out);
    if (in.r_XC == nullptr) return;
    const AttentionWorkspace& room = prepared.room();
    add({room.bias_gradients, room.tile_count, 2 * in.channels}, op.du_C);
    add({room.bias_gradients + in.channels, room.tile_count, 2 * in.channels}, op.dv_C);
    launch_distances_backward(stream, distances_grid(), in, out,
                              {data_of<float>(op.dr_XC), room.tile_count});
  }
  void in_halves() const {
    const bool relative = in.r_XC != nullptr;
    fill_halves_biases(stream, in, prepared.room());
    if (out.dqkv_FP != nullptr) launch_halves_queries_backward(stream, prepared.grid(), in, out);
    if (out.dqkv_FP != nullptr || relative)
      launch_halves_keys_backward(stream, prepared.keys_grid(), in, out);
    if (!relative) return;
    const AttentionWorkspace& room = prepared.room();
    float* const dv_shares = room.bias_gradients + room.tile_count * in.channels;
    launch_halves_distances_backward(stream, distances_grid(), in, out,
                                     {data_of<float>(op.dr_XC), dv_shares, room.tile_count});
    add({room.bias_gradients, room.tile_count, in.channels}, op.du_C);
    add({dv_shares, room.distance_tile_count, in.channels}, op.dv_C);
  }
};

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const AttentionBackward& op) {
  auto& own = static_cast<CudaStream&>(stream);
  cuda::with_type_of(op.qkv_FP, "AttentionBackward", [&]<class T>(T) {
    const cuda::PreparedAttention prepared(own, op, true);
    const auto in = prepared.input<T>(op);
    const cuda::AttentionWorkspace& room = prepared.room();
    const cuda::AttentionOutputs<T> out{
        .y_FC = cuda::data_of<T>(op.y_FC),
        .dy_FC = cuda::data_of<T>(op.dy_FC),
        .dqkv_FP = op.dqkv_FP.data == nullptr ? nullptr : cuda::data_of<T>(op.dqkv_FP),
        .delta_HF = room.delta_HF,
        .bias_gradients = room.bias_gradients};
    cuda::launch(own.handle(), cuda::grid_over(in.rows * in.heads), cuda::compute_delta<T>, in,
                 out);
    if (prepared.by_products())
      return cuda::attend_by_products_backward(own, products_, op, prepared);
    const cuda::BackwardLaunches<T> launches{own, op, prepared, in, out};
    if constexpr (std::is_same_v<T, float>)
      launches.by_fma();
    else
      launches.in_halves();
  });
}

}  // namespace penstock::layers
