#pragma once

#include "layers/cuda/attention/attention_sizes.h"
#include "layers/cuda/core/block.h"
#include "layers/cuda/core/numbers.h"

namespace penstock::layers::cuda {

// Device functions of the FP32 attention kernels. A block has kAttentionTile² threads. Thread (r,
// c) computes the weight of one frame for one other frame, and then every kAttentionTile-th channel
// of row r of a product. Rows in shared memory have kTilePitch floats, an odd number, so that
// threads which read one channel of different rows meet different banks.

inline constexpr int kTilePitch = kMaxHeadChannels + 1;
inline constexpr int kBandRows = 2 * kAttentionTile - 1;  // distances between two tiles' frames
inline constexpr int kOwnChannels = kMaxHeadChannels / kAttentionTile;  // per thread

using TileRow = float[kTilePitch];

/// Inputs of all attention kernels; names as in AttentionGeometry and AttentionBackward.
template <class T>
struct AttentionInput {
  const T* qkv_FP;
  const T* r_XC;  // null: no relative positions
  const float *u_C, *v_C;
  const float *cosines, *sines;  // null: no rotary positions
  float* log_sums_HF;            // null in evaluation
  const AttentionTilePlace* tiles;
  const PhiloxStream* random_UH;
  const float *key_biases_HF, *distance_biases_HX;  // u · k and v · r; f16 and bf16 only
  std::uint64_t drop_limit;                         // 0: nothing is dropped
  float keep_factor;                                // scales what is not dropped
  float scale;                                      // 1 / √d
  std::int64_t rows, left, right, longest;
  int heads, channels, width;  // C, d
  int group;                   // heads of q that share one of k and v

  /// Returns the channels of k, and of v, over all their heads.
  __host__ __device__ int key_channels() const { return heads / group * width; }
  /// Returns the columns P of q, k and v.
  __host__ __device__ int columns() const { return channels + 2 * key_channels(); }
};

struct TileRange {
  std::int64_t first, end;
};

/// Frames of a tile, and frames of the other side that it meets at a time.
struct TileShape {
  int rows = kAttentionTile, columns = kAttentionTile;
};

/// Returns the range of keys that the window lets a tile's queries see. `first` is rounded down to
/// a multiple of shape.columns.
template <class T>
__host__ __device__ TileRange keys_seen_by(const AttentionInput<T>& in,
                                           const AttentionTilePlace& tile,
                                           const TileShape& shape = {}) {
  const std::int64_t first = tile.first - in.left, end = tile.first + shape.rows + in.right;
  return {first < 0 ? 0 : first / shape.columns * shape.columns, end < tile.keys ? end : tile.keys};
}

/// Returns the range of queries that see a tile's keys, rounded in the same way.
template <class T>
__device__ TileRange queries_seeing(const AttentionInput<T>& in, const AttentionTilePlace& tile,
                                    const TileShape& shape = {}) {
  const std::int64_t first = tile.first - in.right, end = tile.first + shape.rows + in.left;
  return {first < 0 ? 0 : first / shape.columns * shape.columns,
          end < tile.frames ? end : tile.frames};
}

/// Returns the row of r for the largest distance between two tiles, which is that of row
/// kAttentionTile - 1 and column 0. Row r and column c have the distance kAttentionTile - 1 - r + c
/// rows further on.
template <class T>
__device__ std::int64_t first_distance(const AttentionInput<T>& in, std::int64_t rows,
                                       std::int64_t columns) {
  return in.longest - 1 - (rows + kAttentionTile - 1 - columns);
}

/// Further inputs and the outputs of the backward kernels; names as in AttentionBackward.
template <class T>
struct AttentionOutputs {
  const T *y_FC, *dy_FC;
  T* dqkv_FP;
  float* delta_HF;        // delta = dy · y of each head and frame
  float* bias_gradients;  // as in AttentionWorkspace
};

enum class AttentionPart { query, key, value };

__device__ inline int tile_row() { return thread_x() / kAttentionTile; }
__device__ inline int tile_column() { return thread_x() % kAttentionTile; }

/// One head of the utterance that a tile belongs to. Frames i and j count from the utterance's
/// start.
template <class T>
struct AttentionHead {
  const AttentionInput<T>& in;
  AttentionTilePlace tile;
  int head;

  /// Returns the index of the head's first channel in a frame, in a matrix of frames with `columns`
  /// columns.
  __device__ std::int64_t element(std::int64_t frame, std::int64_t columns) const {
    return (tile.utterance_row + frame) * columns + head * in.width;
  }
  /// Returns the index of the first channel of q, k or v that the head reads, in a matrix of all
  /// three.
  __device__ std::int64_t element(std::int64_t frame, AttentionPart part) const {
    const std::int64_t row = (tile.utterance_row + frame) * in.columns();
    if (part == AttentionPart::query) return row + head * in.width;
    const int before = part == AttentionPart::key ? 0 : in.key_channels();
    return row + in.channels + before + head / in.group * in.width;
  }
  /// Returns true if query and key exist and the window lets query i see key j.
  __device__ bool sees(std::int64_t i, std::int64_t j) const {
    return i >= 0 && j >= 0 && i < tile.frames && j < tile.keys && j >= i - in.left &&
           j <= i + in.right;
  }
  __device__ float* log_sum(std::int64_t i) const {
    return in.log_sums_HF + head * in.rows + tile.utterance_row + i;
  }
  /// Returns ds of a pair from its score and dp. `p` becomes the weight after dropout that
  /// multiplied v.
  __device__ float score_gradient(const float* delta_HF, std::int64_t i, std::int64_t j,
                                  float score, float d_weight, float& p) const {
    p = 0;
    if (!sees(i, j)) return 0;
    const float weight = expf(score - *log_sum(i)), factor = kept(i, j);
    p = weight * factor;
    return weight * (d_weight * factor - delta_HF[head * in.rows + tile.utterance_row + i]);
  }
  /// Returns the factor that dropout gives weight (i, j): 0, or 1 / (1 - probability).
  __device__ float kept(std::int64_t i, std::int64_t j) const {
    if (in.drop_limit == 0) return 1;
    const PhiloxStream random = in.random_UH[tile.utterance * in.heads + head];
    const PhiloxBlock bits =
        random(static_cast<std::uint32_t>(j / 4), static_cast<std::uint32_t>(i));
    return bits[static_cast<std::size_t>(j % 4)] < in.drop_limit ? 0 : in.keep_factor;
  }
};

/// Returns channel c of a frame's q, k or v. q gets `bias` and the scale 1/√d; q and k are rotated
/// if there are rotary positions.
template <class T>
__device__ float number_of(const AttentionHead<T>& of, AttentionPart part, const float* bias,
                           std::int64_t frame, int c) {
  const auto& in = of.in;
  const T* const x = in.qkv_FP + of.element(frame, part);
  const auto number = [&](int channel) {
    const float value = to_float(x[channel]);
    if (part != AttentionPart::query) return value;
    return in.scale * (bias == nullptr ? value : value + bias[of.head * in.width + channel]);
  };
  const int half = in.width / 2;
  if (in.cosines == nullptr || part == AttentionPart::value) return number(c);
  const std::int64_t angle = frame * half + c % half;
  const float other = c < half ? -number(c + half) : number(c - half);
  return number(c) * in.cosines[angle] + other * in.sines[angle];
}

/// Loads `count` frames from `first` on into shared memory. Rows outside of the utterance become
/// zeros.
template <class T>
__device__ void load_frames(const AttentionHead<T>& of, AttentionPart part, const float* bias,
                            std::int64_t first, int count, TileRow* to) {
  for (int row = tile_row(); row < count; row += kAttentionTile) {
    const std::int64_t frame = first + row;
    const bool there = frame >= 0 && frame < of.tile.frames;
    for (int c = tile_column(); c < of.in.width; c += kAttentionTile)
      to[row][c] = there ? number_of(of, part, bias, frame, c) : 0.0f;
  }
}

/// Loads kAttentionTile frames of y or dy in the same way.
template <class T>
__device__ void load_outputs(const AttentionHead<T>& of, const T* from_FC, std::int64_t first,
                             TileRow* to) {
  const std::int64_t frame = first + tile_row();
  const bool there = frame < of.tile.frames;
  for (int c = tile_column(); c < of.in.width; c += kAttentionTile)
    to[tile_row()][c] = there ? to_float(from_FC[of.element(frame, of.in.channels) + c]) : 0.0f;
}

/// Loads `count` rows of r from `first` on. Rows that r does not have become zeros.
template <class T>
__device__ void load_distances(const AttentionHead<T>& of, std::int64_t first, int count,
                               TileRow* to) {
  for (int row = tile_row(); row < count; row += kAttentionTile) {
    const std::int64_t x = first + row;
    const bool there = x >= 0 && x < 2 * of.in.longest - 1;
    for (int c = tile_column(); c < of.in.width; c += kAttentionTile)
      to[row][c] = there ? to_float(of.in.r_XC[x * of.in.channels + of.head * of.in.width + c]) : 0;
  }
}

__device__ inline float dot(const float* a, const float* b, int count) {
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

/// Queries of a tile in shared memory: with u added, and with v added.
struct TileQueries {
  const TileRow* with_u;
  const TileRow* with_v;
};

/// Loads the tile's queries with u, and also those with v if there are relative positions.
template <class T>
__device__ void load_queries(const AttentionHead<T>& of, TileRow* with_u, TileRow* with_v) {
  const std::int64_t first = of.tile.first;
  load_frames(of, AttentionPart::query, of.in.u_C, first, kAttentionTile, with_u);
  if (of.in.r_XC != nullptr)
    load_frames(of, AttentionPart::query, of.in.v_C, first, kAttentionTile, with_v);
}

/// Returns the score of thread (r, c): of the tile's frame r and frame key + c. Every thread of the
/// block must call it, with a barrier before and after. `others` is scratch for kBandRows rows: it
/// holds k, then r.
template <class T>
__device__ float score_of(const AttentionHead<T>& of, const TileQueries& queries, std::int64_t key,
                          TileRow* others) {
  const int r = tile_row(), c = tile_column(), d = of.in.width;
  load_frames(of, AttentionPart::key, nullptr, key, kAttentionTile, others);
  __syncthreads();
  float score = dot(queries.with_u[r], others[c], d);
  __syncthreads();
  if (of.in.r_XC == nullptr) return score;
  load_distances(of, first_distance(of.in, of.tile.first, key), kBandRows, others);
  __syncthreads();
  score += dot(queries.with_v[r], others[kAttentionTile - 1 - r + c], d);
  __syncthreads();
  return score;
}

/// Sums of one row of the head's channels. Thread (r, c) keeps channels c, c + kAttentionTile, … in
/// registers.
struct OwnChannels {
  float values[kOwnChannels] = {};

  /// Adds Σ_k weight(k) · rows[k].
  template <class Weight>
  __device__ void add(int width, const TileRow* rows, Weight weight) {
    for (int k = 0; k < kAttentionTile; ++k) {
      const float w = weight(k);
      for (int n = 0, c = tile_column(); c < width; ++n, c += kAttentionTile)
        values[n] += w * rows[k][c];
    }
  }
  __device__ void multiply(float factor) {
    for (float& value : values) value *= factor;
  }
  __device__ void store(int width, TileRow* to) const {
    for (int n = 0, c = tile_column(); c < width; ++n, c += kAttentionTile)
      to[tile_row()][c] = values[n];
  }
};

/// Returns channel c of the thread's row of gradients, rotated back if rotary positions rotated q
/// and k.
template <class T>
__device__ float rotated_back(const AttentionHead<T>& of, const TileRow* rows, std::int64_t frame,
                              int c) {
  const auto& in = of.in;
  const float* const row = rows[tile_row()];
  if (in.cosines == nullptr) return row[c];
  const int half = in.width / 2;
  const std::int64_t angle = frame * half + c % half;
  const float other = c < half ? row[c + half] : -row[c - half];
  return row[c] * in.cosines[angle] + other * in.sines[angle];
}

}  // namespace penstock::layers::cuda
