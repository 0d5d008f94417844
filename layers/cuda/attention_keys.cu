#include "layers/cuda/attention_backward.h"

namespace penstock::layers::cuda {
namespace {

/// Stores dk, rotated back, and dv of the tile's frames.
template <class T>
__device__ void store_keys(const AttentionHead<T>& of, const TileRow* dk_rows,
                           const OwnChannels& of_value, T* dqkv_FP) {
  const std::int64_t j = of.tile.first + tile_row();
  if (j >= of.tile.frames) return;
  T* const dk = dqkv_FP + of.element(j, 3 * of.in.channels) + of.in.channels;
  T* const dv = dk + of.in.channels;
  for (int n = 0, c = tile_column(); c < of.in.width; ++n, c += kAttentionTile) {
    dk[c] = from_float<T>(turned_back(of, dk_rows, j, c));
    dv[c] = from_float<T>(of_value.values[n]);
  }
}

/// Computes dk and dv of a tile of 16 keys in FP32; see attention_backward.cu. Block (tile, head).
/// Thread (r, c) computes the score of query r and key c. Then it sums into row r of dk and dv,
/// which belongs to key r.
template <class T>
__global__ void keys_backward(AttentionInput<T> in, AttentionOutputs<T> out) {
  BLOCK_SHARED(float, keys, [kAttentionTile][kTilePitch]);
  BLOCK_SHARED(float, values, [kAttentionTile][kTilePitch]);
  BLOCK_SHARED(float, rows, [kAttentionTile][kTilePitch]);  // q + v, then q + u, dy, q + u again
  BLOCK_SHARED(float, distances, [kBandRows][kTilePitch]);
  BLOCK_SHARED(float, weights, [kAttentionTile][kAttentionTile + 1]);
  BLOCK_SHARED(float, ds, [kAttentionTile][kAttentionTile + 1]);
  const AttentionHead<T> of{in, in.tiles[block_x()], static_cast<int>(block_y())};
  const int r = tile_row(), c = tile_column(), d = in.width;
  const std::int64_t first = of.tile.first;
  load_frames(of, AttentionPart::key, nullptr, first, kAttentionTile, keys);
  load_frames(of, AttentionPart::value, nullptr, first, kAttentionTile, values);
  OwnChannels of_key, of_value;
  const TileRange queries = seeing(in, of.tile);
  for (std::int64_t query = queries.first; query < queries.end; query += kAttentionTile) {
    sync_block();
    float score = 0;
    if (in.r_XC != nullptr) {
      load_frames(of, AttentionPart::query, in.v_C, query, kAttentionTile, rows);
      load_distances(of, first_distance(in, query, first), kBandRows, distances);
      sync_block();
      score = dot(rows[r], distances[kAttentionTile - 1 - r + c], d);
      sync_block();
    }
    load_frames(of, AttentionPart::query, in.u_C, query, kAttentionTile, rows);
    sync_block();
    score += dot(rows[r], keys[c], d);
    sync_block();
    load_outputs(of, out.dy_FC, query, rows);
    sync_block();
    const float d_weight = dot(rows[r], values[c], d);
    ds[r][c] = of.score_gradient(out.through_sums_HF, query + r, first + c, score, d_weight,
                                 weights[r][c]);
    sync_block();
    of_value.add(d, rows, [&](int k) { return weights[k][r]; });
    sync_block();
    load_frames(of, AttentionPart::query, in.u_C, query, kAttentionTile, rows);
    sync_block();
    of_key.add(d, rows, [&](int k) { return ds[k][r]; });
  }
  sync_block();
  of_key.store(d, keys);
  sync_block();
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
    sync_block();
    load_frames(of, AttentionPart::query, in.v_C, first, kAttentionTile, rows);
    sync_block();
    float score = dot(rows[r], distances[c], d), p;
    sync_block();
    load_frames(of, AttentionPart::query, in.u_C, first, kAttentionTile, rows);
    load_frames(of, AttentionPart::key, nullptr, first_key, kBandRows, others);
    sync_block();
    score += dot(rows[r], others[r + c], d);
    sync_block();
    load_outputs(of, out.dy_FC, first, rows);
    load_frames(of, AttentionPart::value, nullptr, first_key, kBandRows, others);
    sync_block();
    const float d_weight = dot(rows[r], others[r + c], d);
    ds[r][c] =
        of.score_gradient(out.through_sums_HF, first + r, first_key + r + c, score, d_weight, p);
    sync_block();
    load_frames(of, AttentionPart::query, in.v_C, first, kAttentionTile, rows);
    sync_block();
    of_distance.add(d, rows, [&](int k) { return ds[k][r]; });
  }
  if (x + r >= 2 * in.longest - 1) return;
  float* const dr = to.dr_XC + (x + r) * in.channels + head * d;
  for (int n = 0, channel = c; channel < d; ++n, channel += kAttentionTile)
    dr[channel] = of_distance.values[n];
}

}  // namespace

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

template void launch_keys_backward(CudaStream&, const Grid&, const AttentionInput<float>&,
                                   const AttentionOutputs<float>&);
template void launch_distances_backward(CudaStream&, const Grid&, const AttentionInput<float>&,
                                        const AttentionOutputs<float>&, const DistanceGradients&);

}  // namespace penstock::layers::cuda
