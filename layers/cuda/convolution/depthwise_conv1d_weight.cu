#include "layers/cuda/convolution/depthwise_conv1d.h"
#include "layers/cuda/core/cuda_backend.h"
#include "layers/ops/conv1d.h"

namespace penstock::layers {
namespace cuda {
namespace {

/// Counts of tiles into which the channels, and the taps of each channel, are divided.
struct CorrelationTiles {
  explicit CorrelationTiles(const DepthwiseSize& size)
      : channels((size.channels + kTileColumns - 1) / kTileColumns),
        taps((size.kernel + kWindowTaps - 1) / kWindowTaps) {}
  int channels, taps;
};

/// Writes partial[chunk][tap][channel] = Σ dy · x over a chunk of frames. Block (chunk, tile of
/// channels and taps) has 8 × 32 threads; each owns one channel and eight taps. Sums over a tile of
/// frames are FP32, and those over a chunk FP64. add_chunks() adds the chunks in order, so that no
/// atomic additions are needed.
template <class T, class Source>
__global__ void correlate_frames(Source source, const T* dy, DepthwiseSize size,
                                 Utterances utterances, std::int64_t rows_each, double* partial) {
  BLOCK_SHARED(float, window, [kWindowRows][kTileColumns]);
  BLOCK_SHARED(float, gradient, [kWindowFrames][kTileColumns]);
  const int tiles = (size.kernel + kWindowTaps - 1) / kWindowTaps;
  const int tap = static_cast<int>(block_y()) % tiles * kWindowTaps, lane = thread_x(),
            channel = static_cast<int>(block_y()) / tiles * kTileColumns + lane;
  const int count = size.kernel - tap < kWindowTaps ? size.kernel - tap : kWindowTaps;
  const std::int64_t begin = block_x() * rows_each;
  const std::int64_t end = begin + rows_each < size.rows ? begin + rows_each : size.rows;
  double sums[kWindowTaps / kTileRows] = {};
  for (std::int64_t first = begin; first < end; first += kWindowFrames) {
    const int frames = end - first < kWindowFrames ? static_cast<int>(end - first) : kWindowFrames;
    fill_window(window, source, size, first + tap - size.left, frames + count - 1, channel);
    fill_window(gradient, DepthwiseSource<T, false>{dy, size.channels}, size, first, frames,
                channel);
    __syncthreads();
    float of_tile[kWindowTaps / kTileRows] = {};
    for (int i = 0; i < frames; ++i) {
      const TapRange seen = taps_seen(utterances, first + i, first + i + tap - size.left, count);
      UNROLLED
      for (int j = 0; j < kWindowTaps / kTileRows; ++j) {
        const int k = thread_y() + j * kTileRows;
        if (k >= seen.first && k < seen.end) of_tile[j] += gradient[i][lane] * window[i + k][lane];
      }
    }
    UNROLLED
    for (int j = 0; j < kWindowTaps / kTileRows; ++j) sums[j] += static_cast<double>(of_tile[j]);
    __syncthreads();
  }
  UNROLLED
  for (int j = 0; j < kWindowTaps / kTileRows; ++j) {
    const int k = thread_y() + j * kTileRows;
    if (k < count && channel < size.channels)
      partial[(block_x() * size.kernel + tap + k) * size.channels + channel] = sums[j];
  }
}

/// Computes d_weight[c, k] += Σ_t dy[t, c] · g[t + k - left, c]. Sums lie [tap][channel], so they
/// are added to the weight's gradient transposed.
template <class T>
void add_correlation(CudaStream& stream, const DepthwiseConv1dBackwardWeight& op,
                     const DepthwiseSize& size) {
  const CorrelationTiles tiles(size);
  const int columns = size.channels * size.kernel, blocks = tiles.channels * tiles.taps;
  const RowChunks chunks(size.rows, blocks * kTileColumns);
  Scratch scratch = stream.scratch();
  const UtterancesWorkspace room(scratch, op.lengths);
  auto* const sums = scratch.take<double>(columns);
  auto* const partial = scratch.take<double>(chunks.count * columns);
  const Utterances utterances = upload_utterances(stream, op.lengths, room);
  const Grid grid{dim3(static_cast<unsigned>(chunks.count), static_cast<unsigned>(blocks)),
                  dim3(kTileColumns, kTileRows)};
  with_source<T>(op.x_FD, size.channels, op.gated, [&]<class Source>(const Source& x) {
    launch(stream.handle(), grid, correlate_frames<T, Source>, x, data_of<T>(op.dy_FC), size,
           utterances, chunks.rows_each, partial);
  });
  add_chunks(stream.handle(), partial, chunks.count, columns, 1, sums);
  add_transposed_to(stream.handle(), sums, size.channels, size.kernel,
                    data_of<float>(op.d_weight_CK));
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const DepthwiseConv1dBackwardWeight& op) {
  const cuda::DepthwiseSize size = cuda::depthwise_size(op.dy_FC, op.d_weight_CK, op.left);
  cuda::with_type_of(op.dy_FC, "DepthwiseConv1dBackwardWeight", [&]<class T>(T) {
    cuda::add_correlation<T>(static_cast<CudaStream&>(stream), op, size);
  });
}

}  // namespace penstock::layers
