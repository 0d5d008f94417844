#include <cmath>

#include "layers/cuda/block.h"
#include "layers/cuda/cuda_backend.h"
#include "layers/cuda/launch.h"
#include "layers/cuda/numbers.h"
#include "layers/ops/optimizer.h"

namespace penstock {
namespace cuda {
namespace {

constexpr int kThreads = 256;

/// Σ values² over one kNormBlock for each block of threads; FP64, in an order of its own but fixed.
__global__ void __launch_bounds__(kThreads)
    sum_squares(const float* values, std::int64_t count, double* sums) {
  BLOCK_SHARED(double, of_warp, [kThreads / kWarp]);
  const std::int64_t begin = block_x() * kNormBlock;
  const std::int64_t end = begin + kNormBlock < count ? begin + kNormBlock : count;
  double sum = 0;
  for (std::int64_t i = begin + thread_x(); i < end; i += kThreads) {
    const double value = values[i];
    sum += value * value;
  }
  for (int distance = kWarp / 2; distance > 0; distance /= 2) sum += shuffle_down(sum, distance);
  if (thread_x() % kWarp == 0) of_warp[thread_x() / kWarp] = sum;
  sync_block();
  if (thread_x() != 0) return;
  sum = 0;
  for (int warp = 0; warp < kThreads / kWarp; ++warp) sum += of_warp[warp];
  sums[block_x()] = sum;
}

__global__ void add_into(const float* from, float* to, std::int64_t count) {
  const std::int64_t i = grid_thread();
  if (i < count) to[i] += from[i];
}

struct AdamW {
  float *weight, *mean, *square;
  const float* gradient;
  float keep_weight, beta1, beta2, step_size, inverse_square_bias, epsilon, gradient_factor;
};

__global__ void adamw(AdamW op, std::int64_t count) {
  const std::int64_t i = grid_thread();
  if (i >= count) return;
  const float gradient = op.gradient_factor * op.gradient[i];
  const float mean = op.beta1 * op.mean[i] + (1 - op.beta1) * gradient;
  const float square = op.beta2 * op.square[i] + (1 - op.beta2) * gradient * gradient;
  op.mean[i] = mean;
  op.square[i] = square;
  op.weight[i] = op.weight[i] * op.keep_weight -
                 op.step_size * mean / (sqrtf(square * op.inverse_square_bias) + op.epsilon);
}

struct Sgd {
  float *weight, *velocity;
  const float* gradient;
  float learning_rate, momentum, weight_decay, gradient_factor;
  bool nesterov;
};

__global__ void sgd(Sgd op, std::int64_t count) {
  const std::int64_t i = grid_thread();
  if (i >= count) return;
  const float gradient = op.gradient_factor * op.gradient[i] + op.weight_decay * op.weight[i];
  const float velocity = op.momentum * op.velocity[i] + gradient;
  op.velocity[i] = velocity;
  op.weight[i] -= op.learning_rate * (op.nesterov ? gradient + op.momentum * velocity : velocity);
}

}  // namespace
}  // namespace cuda

void CudaBackend::run(Stream& stream, const SquaredSums& op) {
  auto& own = static_cast<CudaStream&>(stream);
  auto* const sums = own.scratch().take<double>(static_cast<std::int64_t>(op.sums.size()));
  cuda::launch(own.handle(), {dim3(static_cast<unsigned>(op.sums.size())), dim3(cuda::kThreads)},
               cuda::sum_squares, cuda::data_of<float>(op.values), op.values.size(), sums);
  own.copy_out(op.sums.data(), sums, op.sums.size_bytes());
}

void CudaBackend::run(Stream& stream, const AddInto& op) {
  cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_over(op.to.size()),
               cuda::add_into, cuda::data_of<float>(op.from), cuda::data_of<float>(op.to),
               op.to.size());
}

void CudaBackend::run(Stream& stream, const AdamWStep& op) {
  const auto step = static_cast<double>(op.step);
  const cuda::AdamW arguments{
      .weight = cuda::data_of<float>(op.weight),
      .mean = cuda::data_of<float>(op.mean),
      .square = cuda::data_of<float>(op.square),
      .gradient = cuda::data_of<float>(op.gradient),
      .keep_weight = static_cast<float>(1 - op.learning_rate * op.weight_decay),
      .beta1 = static_cast<float>(op.beta1),
      .beta2 = static_cast<float>(op.beta2),
      .step_size = static_cast<float>(op.learning_rate / (1 - std::pow(op.beta1, step))),
      .inverse_square_bias = static_cast<float>(1 / (1 - std::pow(op.beta2, step))),
      .epsilon = static_cast<float>(op.epsilon),
      .gradient_factor = static_cast<float>(op.gradient_factor)};
  cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_over(op.weight.size()),
               cuda::adamw, arguments, op.weight.size());
}

void CudaBackend::run(Stream& stream, const SgdStep& op) {
  const cuda::Sgd arguments{.weight = cuda::data_of<float>(op.weight),
                            .velocity = cuda::data_of<float>(op.velocity),
                            .gradient = cuda::data_of<float>(op.gradient),
                            .learning_rate = static_cast<float>(op.learning_rate),
                            .momentum = static_cast<float>(op.momentum),
                            .weight_decay = static_cast<float>(op.weight_decay),
                            .gradient_factor = static_cast<float>(op.gradient_factor),
                            .nesterov = op.nesterov};
  cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_over(op.weight.size()),
               cuda::sgd, arguments, op.weight.size());
}

}  // namespace penstock
