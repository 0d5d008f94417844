#include "layers/cuda/attention.h"
#include "layers/cuda/attention_backward.h"
#include "layers/cuda/cuda_backend.h"

namespace penstock::layers {
namespace cuda {
namespace {

template <class T>
__global__ void sum_through_outputs(AttentionInput<T> in, AttentionOutputs<T> out) {
  const std::int64_t i = grid_thread();
  if (i >= in.rows * in.heads) return;
  const std::int64_t row = i / in.heads, head = i % in.heads;
  const std::int64_t first = row * in.channels + head * in.width;
  float sum = 0;
  for (std::int64_t c = first; c < first + in.width; ++c)
    sum += to_float(out.dy_FC[c]) * to_float(out.y_FC[c]);
  out.through_sums_HF[head * in.rows + row] = sum;
}

/// The sums of a tile's rows, for its part `which` of the gradients of u and v.
template <class T>
__device__ void store_bias_gradients(const AttentionHead<T>& of, const TileRow* rows, int which,
                                     float* bias_gradients_2) {
  float* const to =
      bias_gradients_2 + (block_x() * 2 + which) * of.in.channels + of.head * of.in.width;
  for (int c = thread_x(); c < of.in.width; c += block_threads()) {
    float sum = 0;
    for (int row = 0; row < kAttentionTile; ++row) sum += rows[row][c];
    to[c] = sum;
  }
}

/// Block (tile, head): dq of the tile's frames, and their share of du and dv.
template <class T>
__global__ void queries_backward(AttentionInput<T> in, AttentionOutputs<T> out) {
  BLOCK_SHARED(float, queries, [kAttentionTile][kTilePitch]);
  BLOCK_SHARED(float, positioned, [kAttentionTile][kTilePitch]);
  BLOCK_SHARED(float, gradients, [kAttentionTile][kTilePitch]);
  BLOCK_SHARED(float, others, [kBandRows][kTilePitch]);  // k, r, v, k and r again
  BLOCK_SHARED(float, ds, [kAttentionTile][kAttentionTile + 1]);
  const AttentionHead<T> of{in, in.tiles[block_x()], static_cast<int>(block_y())};
  const bool relative = in.r_XC != nullptr;
  const int r = tile_row(), c = tile_column(), d = in.width;
  const std::int64_t first = of.tile.first, i = first + r;
  load_queries(of, queries, positioned);
  load_outputs(of, out.dy_FC, first, gradients);
  OwnChannels by_content, by_position;
  const auto ds_of_row = [&](int k) { return ds[r][k]; };
  const TileRange seen = seen_by(in, of.tile);
  for (std::int64_t key = seen.first; key < seen.end; key += kAttentionTile) {
    sync_block();
    const float score = score_of(of, {queries, positioned}, key, others);
    load_frames(of, AttentionPart::value, nullptr, key, kAttentionTile, others);
    sync_block();
    const float d_weight = dot(gradients[r], others[c], d);
    float p;
    ds[r][c] = of.score_gradient(out.through_sums_HF, i, key + c, score, d_weight, p);
    sync_block();
    load_frames(of, AttentionPart::key, nullptr, key, kAttentionTile, others);
    sync_block();
    by_content.add(d, others, ds_of_row);
    if (!relative) continue;
    sync_block();
    load_distances(of, first_distance(in, first, key), kBandRows, others);
    sync_block();
    by_position.add(d, others + kAttentionTile - 1 - r, ds_of_row);
  }
  by_content.multiply(in.scale);
  by_position.multiply(in.scale);
  sync_block();
  by_content.store(d, queries);
  by_position.store(d, positioned);
  sync_block();
  if (relative) {
    store_bias_gradients(of, queries, 0, out.bias_gradients_2);
    store_bias_gradients(of, positioned, 1, out.bias_gradients_2);
  }
  if (out.dqkv_FP == nullptr || i >= of.tile.frames) return;
  T* const dq = out.dqkv_FP + of.element(i, 3 * in.channels);
  for (int channel = c; channel < d; channel += kAttentionTile)
    dq[channel] = from_float<T>(turned_back(of, queries, i, channel) +
                                (relative ? positioned[r][channel] : 0.0f));
}

/// du_C and dv_C, one after the other, from every tile's share.
__global__ void add_bias_gradients(const float* bias_gradients_2, std::int64_t tiles, int channels,
                                   float* du_C, float* dv_C) {
  const std::int64_t i = grid_thread();
  if (i >= 2 * channels) return;
  double sum = 0;
  for (std::int64_t tile = 0; tile < tiles; ++tile)
    sum += bias_gradients_2[tile * 2 * channels + i];
  if (i < channels)
    du_C[i] = static_cast<float>(sum);
  else
    dv_C[i - channels] = static_cast<float>(sum);
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const AttentionBackward& op) {
  auto& own = static_cast<CudaStream&>(stream);
  const int channels = static_cast<int>(op.geometry.channels);
  cuda::with_type_of(op.qkv_FP, "AttentionBackward", [&]<class T>(T) {
    const cuda::PreparedAttention prepared(own, op, true);
    const auto in = prepared.input<T>(op);
    const cuda::AttentionRoom& room = prepared.room();
    const cuda::AttentionOutputs<T> out{
        .y_FC = cuda::data_of<T>(op.y_FC),
        .dy_FC = cuda::data_of<T>(op.dy_FC),
        .dqkv_FP = op.dqkv_FP.data == nullptr ? nullptr : cuda::data_of<T>(op.dqkv_FP),
        .through_sums_HF = room.through_sums_HF,
        .bias_gradients_2 = room.bias_gradients_2};
    cuda::launch(own.handle(), cuda::grid_over(in.rows * in.heads), cuda::sum_through_outputs<T>,
                 in, out);
    cuda::launch(own.handle(), prepared.grid(), cuda::queries_backward<T>, in, out);
    if (out.dqkv_FP != nullptr) cuda::launch_keys_backward(own, prepared.grid(), in, out);
    if (in.r_XC == nullptr) return;
    cuda::launch(own.handle(), cuda::grid_over(2 * channels), cuda::add_bias_gradients,
                 room.bias_gradients_2, room.tile_count, channels, cuda::data_of<float>(op.du_C),
                 cuda::data_of<float>(op.dv_C));
    const std::int64_t distances = op.geometry.distances();
    cuda::launch_distances_backward(
        own, prepared.grid((distances + cuda::kAttentionTile - 1) / cuda::kAttentionTile), in, out,
        {cuda::data_of<float>(op.dr_XC), room.tile_count});
  });
}

}  // namespace penstock::layers
