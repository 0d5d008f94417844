#include "layers/cuda/attention/attention_halves.h"
#include "layers/cuda/attention/attention_halves_launch.h"
#include "layers/cuda/core/reduce.h"

namespace penstock::layers::cuda {
namespace {

/// Online softmax of a lane's two rows over the tiles so far; see RunningSoftmax in
/// attention_forward.cu.
struct SoftmaxOfLane {
  float largest[2] = {-INFINITY, -INFINITY}, sum[2] = {};

  /// Replaces the scores by e^(s - m'), and sets factors[h] to e^(m - m') of row h, by which the
  /// caller multiplies that row's sums so far.
  template <int kTiles>
  __device__ void add(FragmentC (&scores)[kTiles], float (&factors)[2]) {
    UNROLLED for (int h = 0; h < 2; ++h) {
      float m = largest[h], of_tile = 0;
      UNROLLED for (const FragmentC& score : scores) m =
          fmaxf(m, fmaxf(score.values[2 * h], score.values[2 * h + 1]));
      m = combine_quad(m, Largest());
      factors[h] = largest[h] == -INFINITY ? 0.0f : __expf(largest[h] - m);
      UNROLLED for (FragmentC& score : scores) {
        UNROLLED for (int e = 2 * h; e < 2 * h + 2; ++e) {
          score.values[e] = score.values[e] == -INFINITY ? 0.0f : __expf(score.values[e] - m);
          of_tile += score.values[e];
        }
      }
      sum[h] = sum[h] * factors[h] + combine_quad(of_tile, Sum());
      largest[h] = m;
    }
  }
};

template <int kTiles>
__device__ void multiply_halves_rows(FragmentC (&rows)[kTiles], const float (&factors)[2]) {
  UNROLLED for (FragmentC& row : rows) {
    UNROLLED for (int e = 0; e < 4; ++e) row.values[e] *= factors[e / 2];
  }
}

/// Turns products of the warp's queries with keys into scores: scaled, and -∞ outside of the
/// window.
template <class T>
__device__ void score(const AttentionHead<T>& of, const QueryKey& first,
                      FragmentC (&products)[kColumnTiles]) {
  for_numbers([&](int n, int e, int row, int column) {
    float& value = products[n].values[e];
    value = of.sees(first.i + row, first.j + column) ? value * of.in.scale : -INFINITY;
  });
}

/// Applies dropout to the weights.
template <class T>
__device__ void drop(const AttentionHead<T>& of, const QueryKey& first,
                     FragmentC (&weights)[kColumnTiles]) {
  if (of.in.drop_limit == 0) return;
  for_numbers([&](int n, int e, int row, int column) {
    weights[n].values[e] *= of.kept(first.i + row, first.j + column);
  });
}

template <class T>
__device__ void store_log_sums(const AttentionHead<T>& of, std::int64_t first,
                               const SoftmaxOfLane& softmax) {
  for (int h = 0; h < 2; ++h) {
    const std::int64_t i = first + FragmentC::row(2 * h);
    if (i < of.tile.frames && thread_x() % 4 == 0)
      *of.log_sum(i) = softmax.largest[h] + logf(softmax.sum[h]);
  }
}

/// Attention of a tile of 64 queries, as in FlashAttention-2 (Dao 2023). Block (tile, head) has
/// four warps, which own 16 queries each and share the tiles of 32 keys in shared memory. Queries,
/// scores, weights and sums stay in the warp's registers; weights are rounded to T as they become
/// the operand that multiplies v.
///
/// Static shared memory is 47.5 KiB at width 128. `others` holds q, then r and v in turn, which
/// costs two more barriers per key tile if there are relative positions.
template <class T, int kWidth>
__global__ void attend_halves(AttentionInput<T> in, T* y_FC) {
  using Row = HalvesRow<T, kWidth>;
  BLOCK_SHARED(Row, keys, [kHalvesColumns]);
  BLOCK_SHARED(Row, others, [kHalvesBandRows]);  // q, then r and v
  BLOCK_SHARED(BandRow<kDistanceBlocks>, bands, [kHalvesTile]);
  BLOCK_SHARED(float, key_biases, [kHalvesColumns]);
  BLOCK_SHARED(float, distance_biases, [kHalvesBandRows]);
  const AttentionHead<T> of{in, in.tiles[block_x()], static_cast<int>(block_y())};
  const bool relative = in.r_XC != nullptr;
  const int own_first = 16 * warp_of_block();
  const QueryPositions<T, kWidth> positions{others, bands + own_first, key_biases, distance_biases};
  const std::int64_t first = of.tile.first;
  load_rows(in, part_rows(of, AttentionPart::query), first, kHalvesTile, others);
  __syncthreads();
  const OwnRows<T, kWidth> queries(others + own_first);
  SoftmaxOfLane softmax;
  FragmentC y[kWidth / 8];
  const TileRange seen = keys_seen_by(in, of.tile, {kHalvesTile, kHalvesColumns});
  for (std::int64_t key = seen.first; key < seen.end; key += kHalvesColumns) {
    __syncthreads();
    load_rows(in, part_rows(of, AttentionPart::key), key, kHalvesColumns, keys);
    if (relative)
      positions.load(of, key);
    else
      load_rows(in, part_rows(of, AttentionPart::value), key, kHalvesColumns, others);
    __syncthreads();
    FragmentC scores[kColumnTiles];
    multiply_transposed(queries, keys, scores);
    if (relative) positions.add(queries, scores);
    const QueryKey at{first + own_first, key};
    score(of, at, scores);
    float factors[2];
    softmax.add(scores, factors);
    drop(of, at, scores);
    if (relative) {
      __syncthreads();
      load_rows(in, part_rows(of, AttentionPart::value), key, kHalvesColumns, others);
      __syncthreads();
    }
    multiply_halves_rows(y, factors);
    multiply_rounded<T>(scores, others, y);
  }
  const float factors[2] = {1 / softmax.sum[0], 1 / softmax.sum[1]};
  const HeadRows<T> to{y_FC + of.element(0, in.channels), in.channels, of.tile.frames};
  store_sums(in, to, first + own_first, y, factors);
  if (in.log_sums_HF != nullptr) store_log_sums(of, first + own_first, softmax);
}

/// Multiplies each head of each row by the same head of the vector `by_C`. One thread for each row
/// and head.
template <class T>
__global__ void multiply_rows(HeadRows<const T> rows, const float* by_C, int heads, int width,
                              float* to_HR) {
  const std::int64_t i = grid_thread();
  if (i >= rows.count * heads) return;
  const std::int64_t row = i / heads, head = i % heads;
  const T* const x = rows.first + row * rows.pitch + head * width;
  float sum = 0;
  for (int c = 0; c < width; ++c) sum += to_float(x[c]) * by_C[head * width + c];
  to_HR[head * rows.count + row] = sum;
}

}  // namespace

template <class T>
void fill_halves_biases(CudaStream& stream, const AttentionInput<T>& in,
                        const AttentionWorkspace& room) {
  if (in.r_XC == nullptr) return;
  const HeadRows<const T> keys{in.qkv_FP + in.channels, 3 * in.channels, in.rows};  // group is 1
  const HeadRows<const T> distances{in.r_XC, in.channels, 2 * in.longest - 1};
  launch(stream.handle(), grid_over(keys.count * in.heads), multiply_rows<T>, keys, in.u_C,
         in.heads, in.width, room.key_biases_HF);
  launch(stream.handle(), grid_over(distances.count * in.heads), multiply_rows<T>, distances,
         in.v_C, in.heads, in.width, room.distance_biases_HX);
}

template <class T>
void launch_halves_forward(CudaStream& stream, const Grid& grid, const AttentionInput<T>& in,
                           T* y_FC) {
  with_width(in.width, [&]<int kWidth>(std::integral_constant<int, kWidth>) {
    launch(stream.handle(), grid, attend_halves<T, kWidth>, in, y_FC);
  });
}

#define FOR_TYPE(T)                                                       \
  template void fill_halves_biases(CudaStream&, const AttentionInput<T>&, \
                                   const AttentionWorkspace&);            \
  template void launch_halves_forward(CudaStream&, const Grid&, const AttentionInput<T>&, T*);
FOR_TYPE(__half)
FOR_TYPE(__nv_bfloat16)
#undef FOR_TYPE

}  // namespace penstock::layers::cuda
