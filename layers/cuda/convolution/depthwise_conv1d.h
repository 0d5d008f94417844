#pragma once

#include "layers/cuda/core/block.h"
#include "layers/cuda/core/numbers.h"
#include "layers/cuda/core/utterances.h"
#include "layers/cuda/elementwise/gate_functions.h"
#include "layers/cuda/norms/column_sums.h"

namespace penstock::layers::cuda {

// Depthwise 1-D convolution in tiles. Blocks of kTileRows × kTileColumns threads, a column for each
// channel, load windows of frames into shared memory. So each frame is read, and gated, about twice
// for every kWindowTaps taps.

/// Frames of a tile, and taps that meet them at a time. Both are multiples of kTileRows.
inline constexpr int kWindowFrames = 64, kWindowTaps = 64;
inline constexpr int kWindowRows = kWindowFrames + kWindowTaps - 1;

struct DepthwiseSize {
  std::int64_t rows;
  std::int64_t left;  // frames before the present one
  int channels, kernel;
};

inline DepthwiseSize depthwise_size(const Tensor& frames_FC, const Tensor& weight_CK,
                                    std::int64_t left) {
  return {frames_FC.shape.at(0), left, static_cast<int>(weight_CK.shape.at(0)),
          static_cast<int>(weight_CK.shape.at(1))};
}

/// Reads numbers of a matrix of frames. If gated, rows hold two halves, and a number is their glu.
template <class T, bool kGated>
struct DepthwiseSource {
  const T* x;
  int channels;

  __device__ HalfRows halves(std::int64_t row, int channel) const {
    const T* const from = x + row * 2 * channels + channel;
    return {to_float(from[0]), to_float(from[channels])};
  }
  __device__ float at(std::int64_t row, int channel) const {
    if constexpr (kGated)
      return Glu::value(halves(row, channel));
    else
      return to_float(x[row * channels + channel]);
  }
};

/// Sets window[i] to row first + i of the source for i < count, and to 0 outside of the matrix. It
/// does not separate utterances; taps_seen() does.
template <class Source>
__device__ void fill_window(float (*window)[kTileColumns], const Source& source,
                            const DepthwiseSize& size, std::int64_t first, int count, int channel) {
  for (int i = thread_y(); i < count; i += kTileRows) {
    const std::int64_t row = first + i;
    const bool real = channel < size.channels && row >= 0 && row < size.rows;
    window[i][thread_x()] = real ? source.at(row, channel) : 0.0f;
  }
}

struct TapRange {
  int first, end;  // `end` is one past the last
};

/// Returns which of `count` taps meet a frame of the utterance of `row`, if tap k meets frame from
/// + k.
__device__ inline TapRange taps_seen(const Utterances& utterances, std::int64_t row,
                                     std::int64_t from, int count) {
  const std::int64_t begin = utterances.begin(row) - from, end = utterances.end(row) - from;
  return {begin > 0 ? static_cast<int>(begin < count ? begin : count) : 0,
          end < count ? static_cast<int>(end > 0 ? end : 0) : count};
}

/// Calls work(source) with a source of x, or of glu(x) if `gated`.
template <class T, class Work>
void with_source(const Tensor& x, int channels, bool gated, Work work) {
  if (gated)
    work(DepthwiseSource<T, true>{data_of<T>(x), channels});
  else
    work(DepthwiseSource<T, false>{data_of<T>(x), channels});
}

}  // namespace penstock::layers::cuda
