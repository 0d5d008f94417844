#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/core/launch.h"
#include "layers/cuda/core/numbers.h"
#include "layers/cuda/core/reduce.h"
#include "layers/ops/transducer.h"

// Scores of a tile's cells, and the gradient of its logits, one warp for each cell. Lanes share a
// row's logits, so a cell's numbers do not depend on the tile.

namespace penstock::layers {
namespace cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp;

/// Returns log Σ e^x over a row to all lanes of the warp.
template <class T>
__device__ float log_sum(const T* x, std::int64_t count) {
  const int lane = thread_x() % kWarp;
  float top = -INFINITY, sum = 0;
  for (std::int64_t k = lane; k < count; k += kWarp) top = Largest{}(to_float(x[k]), top);
  top = combine_warp(top, Largest{});
  for (std::int64_t k = lane; k < count; k += kWarp) sum += expf(to_float(x[k]) - top);
  return top + logf(combine_warp(sum, Sum{}));
}

/// The rows of a tile: cell c has c % row labels written.
template <class T>
struct TileOfLogits {
  const T* logits;
  std::int64_t cells, tokens, durations;
  const std::int32_t* labels;
  std::int64_t row;

  __device__ const T* logits_of(std::int64_t c) const { return logits + c * (tokens + durations); }
  /// Returns the label that cell c can write next, or 0 at the row's end.
  __device__ std::int32_t label(std::int64_t c) const {
    const std::int64_t u = c % row;
    return u == row - 1 ? 0 : labels[u];
  }
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    score_cells(TileOfLogits<T> tile, float sigma, float* scores) {
  const std::int64_t c = block_x() * kWarps + thread_x() / kWarp;
  if (c >= tile.cells) return;
  const int lane = thread_x() % kWarp;
  const T* const x = tile.logits_of(c);
  float* const score = scores + c * (2 + tile.durations);
  const float shift = log_sum(x, tile.tokens) + sigma;
  if (lane == 0) {
    const std::int32_t label = tile.label(c);
    score[0] = to_float(x[0]) - shift;
    score[1] = label == 0 ? -INFINITY : to_float(x[label]) - shift;
  }
  if (tile.durations == 0) return;
  const float sum = log_sum(x + tile.tokens, tile.durations);
  for (std::int64_t i = lane; i < tile.durations; i += kWarp)
    score[2 + i] = to_float(x[tile.tokens + i]) - sum;
}

/// `gradient` may be the tile's logits: a number is written by the lane that read it last.
template <class T>
__global__ void __launch_bounds__(kThreads)
    take_gradient(TileOfLogits<T> tile, const float* shares, T* gradient) {
  const std::int64_t c = block_x() * kWarps + thread_x() / kWarp;
  if (c >= tile.cells) return;
  const int lane = thread_x() % kWarp;
  const T* const x = tile.logits_of(c);
  T* const g = gradient + c * (tile.tokens + tile.durations);
  const float* const share = shares + c * (2 + tile.durations);
  const float blank = share[0], of_label = share[1], all = blank + of_label;
  const std::int32_t label = tile.label(c);
  const float shift = log_sum(x, tile.tokens);
  const float of_durations = tile.durations == 0 ? 0 : log_sum(x + tile.tokens, tile.durations);
  for (std::int64_t k = lane; k < tile.tokens; k += kWarp) {
    const float taken = k == 0 ? blank : k == label ? of_label : 0;
    g[k] = from_float<T>(all * expf(to_float(x[k]) - shift) - taken);
  }
  for (std::int64_t i = lane; i < tile.durations; i += kWarp) {
    const std::int64_t k = tile.tokens + i;
    g[k] = from_float<T>(all * expf(to_float(x[k]) - of_durations) - share[2 + i]);
  }
}

/// Returns a tile's arguments for kernels. Both operations name them alike.
template <class T, class Operation>
TileOfLogits<T> tile_of(const Operation& op) {
  const std::int64_t labels = op.labels_U.size();
  return {.logits = data_of<T>(op.logits_CK),
          .cells = op.logits_CK.shape.at(0),
          .tokens = op.tokens,
          .durations = op.logits_CK.shape.at(1) - op.tokens,
          .labels = labels == 0 ? nullptr : op.labels_U.template as<std::int32_t>(),
          .row = labels + 1};
}

/// Returns a grid with a warp for each cell.
Grid grid_of_warps(std::int64_t cells) {
  return {dim3(static_cast<unsigned>((cells + kWarps - 1) / kWarps)), dim3(kThreads)};
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const TransducerScores& op) {
  cuda::with_type_of(op.logits_CK, "TransducerScores", [&]<class T>(T) {
    const auto tile = cuda::tile_of<T>(op);
    cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_of_warps(tile.cells),
                 cuda::score_cells<T>, tile, static_cast<float>(op.sigma),
                 cuda::data_of<float>(op.scores_CS));
  });
}

template <>
void CudaBackend::compute(Stream& stream, const TransducerLogitGradient& op) {
  cuda::with_type_of(op.logits_CK, "TransducerLogitGradient", [&]<class T>(T) {
    const auto tile = cuda::tile_of<T>(op);
    cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_of_warps(tile.cells),
                 cuda::take_gradient<T>, tile, cuda::data_of<float>(op.occupancies_CS),
                 cuda::data_of<T>(op.dlogits_CK));
  });
}

}  // namespace penstock::layers
