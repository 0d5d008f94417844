#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/core/launch.h"
#include "layers/cuda/core/numbers.h"
#include "layers/cuda/core/reduce.h"
#include "layers/cuda/core/utterances.h"
#include "layers/cuda/training/cross_entropy_sizes.h"
#include "layers/ops/cross_entropy.h"

// Losses of rows of logits, and their gradient: a block for each row, whose threads share the
// classes. A thread's own sum is FP32, and the block adds them up in FP64, in an order that depends
// on the number of classes alone. A warp adds up the rows of an utterance.

namespace penstock::layers {
namespace cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp;

/// The rows of a tile. Label smoothing gives each class the share `spread`, and the target `sure`
/// besides.
template <class T>
struct LogitRows {
  const T* logits;
  std::int64_t classes;
  const std::int32_t* targets;
  double spread, sure;

  __device__ const T* of_block() const { return logits + block_x() * classes; }
};

/// Returns Σ term(k) over the classes to all threads of the block.
template <class Term>
__device__ double sum_over_classes(std::int64_t classes, double* of_warp, Term term) {
  float sum = 0;
  for (std::int64_t k = thread_x(); k < classes; k += kThreads) sum += term(k);
  return combine_block(static_cast<double>(sum), of_warp, Sum{});
}

/// Returns log Σ e^x over a row to all threads of the block.
template <class T>
__device__ double log_sum(const T* x, std::int64_t classes, float* largest, double* sums) {
  float top = -INFINITY;
  for (std::int64_t k = thread_x(); k < classes; k += kThreads)
    top = Largest{}(to_float(x[k]), top);
  top = combine_block(top, largest, Largest{});
  const auto share = [=](std::int64_t k) { return expf(to_float(x[k]) - top); };
  return static_cast<double>(top) + log(sum_over_classes(classes, sums, share));
}

template <class T>
__global__ void __launch_bounds__(kThreads) take_losses(LogitRows<T> rows, double* losses) {
  BLOCK_SHARED(float, largest, [kWarps]);
  BLOCK_SHARED(double, sums, [2][kWarps]);
  const T* const x = rows.of_block();
  double loss = log_sum(x, rows.classes, largest, sums[0]);
  if (rows.spread > 0)
    loss -= rows.spread *
            sum_over_classes(rows.classes, sums[1], [=](std::int64_t k) { return to_float(x[k]); });
  if (thread_x() != 0) return;
  const std::int32_t target = rows.targets[block_x()];
  losses[block_x()] = loss - rows.sure * static_cast<double>(to_float(x[target]));
}

/// `gradient` may be the logits: a number is written by the thread that read it last.
template <class T>
__global__ void __launch_bounds__(kThreads)
    take_gradient(LogitRows<T> rows, const float* factors, T* gradient) {
  BLOCK_SHARED(float, largest, [kWarps]);
  BLOCK_SHARED(double, sums, [kWarps]);
  const T* const x = rows.of_block();
  T* const g = gradient + block_x() * rows.classes;
  const auto shift = static_cast<float>(log_sum(x, rows.classes, largest, sums));
  const float factor = factors[block_x()], spread = static_cast<float>(rows.spread),
              of_target = static_cast<float>(rows.spread + rows.sure);
  const std::int32_t target = rows.targets[block_x()];
  for (std::int64_t k = thread_x(); k < rows.classes; k += kThreads)
    g[k] =
        from_float<T>(factor * (expf(to_float(x[k]) - shift) - (k == target ? of_target : spread)));
}

/// Adds up the rows of each utterance, one warp for each.
__global__ void __launch_bounds__(kThreads)
    add_utterances(const double* of_rows, CrossEntropyWorkspace room, std::int64_t utterances,
                   const float* weights, double scale, float* factors) {
  const std::int64_t u = block_x() * kWarps + thread_x() / kWarp;
  if (u >= utterances) return;
  const int lane = thread_x() % kWarp;
  const std::int64_t begin = room.starts[u], end = room.starts[u + 1];
  const double weight = weights[u];
  double sum = 0;
  for (std::int64_t r = begin + lane; r < end; r += kWarp) sum += of_rows[r];
  sum = combine_warp(sum, Sum{});
  if (lane == 0) room.losses[u] = weight * sum;
  if (factors == nullptr) return;
  for (std::int64_t r = begin + lane; r < end; r += kWarp)
    factors[r] = static_cast<float>(weight * scale);
}

/// Returns a tile's arguments for kernels. Both operations name them alike.
template <class T, class Operation>
LogitRows<T> rows_of_logits(const Operation& op) {
  const std::int64_t classes = op.logits_RV.shape.at(1);
  return {.logits = data_of<T>(op.logits_RV),
          .classes = classes,
          .targets = op.targets_R.template as<std::int32_t>(),
          .spread = op.smoothing / static_cast<double>(classes),
          .sure = 1 - op.smoothing};
}

/// Returns a grid with a block for each row.
Grid grid_of_rows(const Tensor& logits_RV) {
  return {dim3(static_cast<unsigned>(logits_RV.shape.at(0))), dim3(kThreads)};
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const CrossEntropyLosses& op) {
  cuda::with_type_of(op.logits_RV, "CrossEntropyLosses", [&]<class T>(T) {
    cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_of_rows(op.logits_RV),
                 cuda::take_losses<T>, cuda::rows_of_logits<T>(op),
                 cuda::data_of<double>(op.losses_R));
  });
}

template <>
void CudaBackend::compute(Stream& stream, const CrossEntropySums& op) {
  expect_rows_that_fit(op);
  auto& own = static_cast<CudaStream&>(stream);
  Scratch scratch(op.workspace);
  const cuda::CrossEntropyWorkspace room(scratch, op.lengths.size());
  const auto starts = cuda::starts_of(op.lengths);
  own.copy_in(room.starts, starts.data(), starts.size() * sizeof(std::int64_t));
  const auto utterances = static_cast<std::int64_t>(op.lengths.size());
  const auto blocks = static_cast<unsigned>((utterances + cuda::kWarps - 1) / cuda::kWarps);
  float* const factors =
      op.factors_R.data == nullptr ? nullptr : cuda::data_of<float>(op.factors_R);
  cuda::launch(own.handle(), {dim3(blocks), dim3(cuda::kThreads)}, cuda::add_utterances,
               cuda::data_of<double>(op.losses_R), room, utterances, op.targets.weights.data(),
               op.targets.scale, factors);
  own.copy_out(op.targets.losses.data(), room.losses, op.targets.losses.size_bytes());
}

template <>
void CudaBackend::compute(Stream& stream, const CrossEntropyGradient& op) {
  cuda::with_type_of(op.logits_RV, "CrossEntropyGradient", [&]<class T>(T) {
    cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_of_rows(op.logits_RV),
                 cuda::take_gradient<T>, cuda::rows_of_logits<T>(op),
                 cuda::data_of<float>(op.factors_R), cuda::data_of<T>(op.dlogits_RV));
  });
}

}  // namespace penstock::layers
