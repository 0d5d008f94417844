#include <cmath>

#include "layers/cuda/attention/attention_tile.h"
#include "layers/cuda/attention/rotary.h"
#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/core/launch.h"
#include "layers/cuda/core/reduce.h"
#include "layers/cuda/core/utterances.h"
#include "layers/ops/attention_cached.h"

// Attention of new rows to cached ones. A decoding step has one new row for each utterance, so
// there is no tile of queries to share keys: a block takes one row and head, and each of its warps
// every kWarps-th group of cached rows. A warp reads whole rows of a head, neighbouring channels in
// neighbouring lanes, and keeps an online softmax of its own (Milakov & Gimelshein 2018). The
// warps' sums are added at the end, in their order.

namespace penstock::layers {
namespace cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kGroup = 4;                // cached rows whose numbers a warp loads at once
constexpr int kMaxCachedChannels = 512;  // of a head

/// Names as in AttentionCached.
template <class T>
struct CachedInput {
  const T* qkv_FP;
  T *keys_UTC, *values_UTC;
  const std::int64_t *starts, *past;  // as in AttentionCachedWorkspace
  double rotary_base;
  float scale;  // 1 / √d
  std::int64_t rows, left, capacity;
  bool cross;
  int utterances, channels, key_channels, width,
      group;  // C, that of k and v, d, as in AttentionInput

  struct Place {
    std::int64_t first_row;  // of the utterance's first cached row, in keys and values
    std::int64_t position;   // in the utterance
    std::int64_t end;        // of the cached rows that it sees
  };
  __device__ Place place(std::int64_t row) const {
    const int u = last_at_or_before(starts, utterances, row);
    const std::int64_t position = past[u] + row - starts[u];
    return {u * capacity, position, cross ? past[u] : position + 1};
  }
  __device__ const T* query(std::int64_t row) const {
    return qkv_FP + row * (cross ? channels : channels + 2 * key_channels);
  }
  /// Returns channel c of a head of q or k, which starts at `x`, rotated for a position.
  __device__ float rotated(const T* x, std::int64_t position, int c) const {
    const float value = to_float(x[c]);
    if (rotary_base == 0) return value;
    const int half = width / 2;
    const double angle = rotary_angle(rotary_base, position, c % half, half);
    const float other = c < half ? -to_float(x[c + half]) : to_float(x[c - half]);
    return value * static_cast<float>(cos(angle)) + other * static_cast<float>(sin(angle));
  }
};

/// Appends keys and values to the cache. One thread for each channel of a new row of k.
template <class T>
__global__ void append_rows(CachedInput<T> in) {
  const std::int64_t i = grid_thread();
  if (i >= in.rows * in.key_channels) return;
  const std::int64_t row = i / in.key_channels;
  const int channel = static_cast<int>(i % in.key_channels), c = channel % in.width;
  const auto at = in.place(row);
  const T* const key = in.query(row) + in.channels + channel - c;
  const std::int64_t to = (at.first_row + at.position) * in.key_channels + channel;
  in.keys_UTC[to] = from_float<T>(in.rotated(key, at.position, c));
  in.values_UTC[to] = key[in.key_channels + c];
}

/// The online softmax of one warp, and the channels of its lanes: lane, lane + kWarp, … Heads have
/// at most kWidth channels.
template <int kWidth>
struct WarpSums {
  float largest = -INFINITY, sum = 0;
  float values[kWidth / kWarp] = {};

  /// Adds cached rows first, first + 1, … of one head, as many of kGroup as lie before `end`.
  /// `keys` and `cached` are keys and values of row 0, and `query` is in shared memory.
  template <class T>
  __device__ void add(const CachedInput<T>& in, const T* keys, const T* cached, const float* query,
                      std::int64_t first, std::int64_t end) {
    const int lane = thread_x() % kWarp;
    float scores[kGroup];
    float max = largest;
    UNROLLED for (int g = 0; g < kGroup; ++g) {
      const T* const key = keys + (first + g) * in.key_channels;
      float product = 0;
      for (int c = lane; c < in.width && first + g < end; c += kWarp)
        product += query[c] * to_float(key[c]);
      product = combine_warp(product, Sum());
      scores[g] = first + g < end ? product : -INFINITY;
      max = fmaxf(max, scores[g]);
    }
    const float factor = largest == -INFINITY ? 0.0f : expf(largest - max);
    largest = max;
    sum *= factor;
    for (float& value : values) value *= factor;
    UNROLLED for (int g = 0; g < kGroup; ++g) {
      if (first + g >= end) break;
      const float weight = expf(scores[g] - largest);
      const T* const value = cached + (first + g) * in.key_channels;
      sum += weight;
      for (int n = 0, c = lane; c < in.width; ++n, c += kWarp)
        values[n] += weight * to_float(value[c]);
    }
  }
};

/// Computes y of one row and head. Block (row, head) has kWarps warps.
template <class T, int kWidth>
__global__ void __launch_bounds__(kWarps* kWarp) attend_rows(CachedInput<T> in, T* y_FC) {
  BLOCK_SHARED(float, query, [kWidth]);
  BLOCK_SHARED(float, of_warps, [kWarps][kWidth]);
  BLOCK_SHARED(float, largest, [kWarps]);
  BLOCK_SHARED(float, totals, [kWarps]);
  const std::int64_t row = block_x();
  const int head = static_cast<int>(block_y()) * in.width, thread = thread_x();
  const auto at = in.place(row);
  for (int c = thread; c < in.width; c += kWarps * kWarp)
    query[c] = in.scale * in.rotated(in.query(row) + head, at.position, c);
  __syncthreads();
  const std::int64_t first_key = at.first_row * in.key_channels + block_y() / in.group * in.width;
  const T *const keys = in.keys_UTC + first_key, *const values = in.values_UTC + first_key;
  const int warp = thread / kWarp;
  const std::int64_t seen = at.position - in.left;
  WarpSums<kWidth> sums;
  for (std::int64_t first = (seen < 0 ? 0 : seen) + warp * kGroup; first < at.end;
       first += kWarps * kGroup)
    sums.add(in, keys, values, query, first, at.end);
  for (int n = 0, c = thread % kWarp; c < in.width; ++n, c += kWarp)
    of_warps[warp][c] = sums.values[n];
  if (thread % kWarp == 0) {
    largest[warp] = sums.largest;
    totals[warp] = sums.sum;
  }
  __syncthreads();
  float max = largest[0];  // warp 0 always has a row: the first that is seen
  for (int w = 1; w < kWarps; ++w) max = fmaxf(max, largest[w]);
  for (int c = thread; c < in.width; c += kWarps * kWarp) {
    float total = 0, y = 0;
    for (int w = 0; w < kWarps; ++w) {
      const float factor = largest[w] == -INFINITY ? 0.0f : expf(largest[w] - max);
      total += factor * totals[w];
      y += factor * of_warps[w][c];
    }
    y_FC[row * in.channels + head + c] = from_float<T>(y / total);
  }
}

/// Uploads where the utterances begin and how long they are. The workspace is shared with
/// AttentionForward, which runs afterwards.
template <class T>
CachedInput<T> prepare(CudaStream& stream, const AttentionCached& op) {
  Scratch scratch(op.workspace);
  const AttentionCachedWorkspace room(scratch, op.geometry);
  const auto starts = starts_of(op.geometry.lengths);
  stream.copy_in(room.starts, starts.data(), starts.size() * sizeof(std::int64_t));
  stream.copy_in(room.past, op.cache.past.data(), op.cache.past.size_bytes());
  return {.qkv_FP = data_of<T>(op.qkv_FP),
          .keys_UTC = data_of<T>(op.cache.keys_UTC),
          .values_UTC = data_of<T>(op.cache.values_UTC),
          .starts = room.starts,
          .past = room.past,
          .rotary_base = op.geometry.rotary_base,
          .scale = 1 / std::sqrt(static_cast<float>(op.geometry.head_channels())),
          .rows = starts.back(),
          .left = op.geometry.left,
          .capacity = op.cache.capacity(),
          .cross = op.geometry.cross(),
          .utterances = static_cast<int>(op.geometry.lengths.size()),
          .channels = static_cast<int>(op.geometry.channels),
          .key_channels = static_cast<int>(op.geometry.key_channels()),
          .width = static_cast<int>(op.geometry.head_channels()),
          .group = static_cast<int>(op.geometry.group())};
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const AttentionCached& op) {
  check_cache(op);
  if (op.geometry.head_channels() > cuda::kMaxCachedChannels)
    cuda::throw_head_too_wide(op.geometry.head_channels(), cuda::kMaxCachedChannels);
  auto& own = static_cast<CudaStream&>(stream);
  cuda::with_type_of(op.qkv_FP, "AttentionCached", [&]<class T>(T) {
    const auto in = cuda::prepare<T>(own, op);
    if (!in.cross)
      cuda::launch(own.handle(), cuda::grid_over(in.rows * in.key_channels), cuda::append_rows<T>,
                   in);
    if (begins(op)) return run(stream, whole_attention(op));
    const cuda::Grid grid{
        dim3(static_cast<unsigned>(in.rows), static_cast<unsigned>(op.geometry.heads)),
        dim3(cuda::kWarps * cuda::kWarp)};
    const auto attend = in.width <= cuda::kMaxHeadChannels
                            ? cuda::attend_rows<T, cuda::kMaxHeadChannels>
                            : cuda::attend_rows<T, cuda::kMaxCachedChannels>;
    cuda::launch(own.handle(), grid, attend, in, cuda::data_of<T>(op.y_FC));
  });
}

}  // namespace penstock::layers
