#include <cmath>
#include <type_traits>

#include "layers/cuda/block.h"
#include "layers/cuda/cuda_backend.h"
#include "layers/cuda/launch.h"
#include "layers/cuda/numbers.h"
#include "layers/ops/optimizer.h"

namespace penstock {
namespace cuda {
namespace {

__global__ void add_into(const float* from, float* to, float factor, std::int64_t count) {
  const std::int64_t i = grid_thread();
  if (i < count) to[i] += factor * from[i];
}

/// Where new weights go: the masters, and rounded to what layers read (Half is float where that is
/// the masters themselves).
template <class Half>
struct Weights {
  float* masters;
  Half* rounded;
  __device__ void set(std::int64_t i, float value) const {
    masters[i] = value;
    if constexpr (!std::is_same_v<Half, float>) rounded[i] = from_float<Half>(value);
  }
};

/// What AdamW and LAMB share: the moments and the factors of one step.
struct Moments {
  float *mean, *square;
  const float* gradient;
  float beta1, beta2, rate, inverse_square_bias, epsilon, gradient_factor;

  /// Moves the moments of number i; rate · mean over the deviation.
  __device__ float move(std::int64_t i) const {
    const float g = gradient_factor * gradient[i];
    const float first = beta1 * mean[i] + (1 - beta1) * g;
    const float second = beta2 * square[i] + (1 - beta2) * g * g;
    mean[i] = first;
    square[i] = second;
    return rate * first / (sqrtf(second * inverse_square_bias) + epsilon);
  }
};

template <class Half>
__global__ void adamw(Moments moments, Weights<Half> weights, float keep, std::int64_t count) {
  const std::int64_t i = grid_thread();
  if (i < count) weights.set(i, weights.masters[i] * keep - moments.move(i));
}

__global__ void lamb_direction(Moments moments, const float* weight, float decay, float* direction,
                               std::int64_t count) {
  const std::int64_t i = grid_thread();
  if (i < count) direction[i] = moments.move(i) + decay * weight[i];
}

struct Sgd {
  float* velocity;
  const float* gradient;
  float learning_rate, momentum, weight_decay, gradient_factor;
  float of_gradient, of_velocity;  // what the step is made of
};

template <class Half>
__global__ void sgd(Sgd op, Weights<Half> weights, std::int64_t count) {
  const std::int64_t i = grid_thread();
  if (i >= count) return;
  const float weight = weights.masters[i];
  const float gradient = op.gradient_factor * op.gradient[i] + op.weight_decay * weight;
  const float velocity = op.momentum * op.velocity[i] + gradient;
  op.velocity[i] = velocity;
  weights.set(i,
              weight - op.learning_rate * (op.of_gradient * gradient + op.of_velocity * velocity));
}

template <class Op>
Moments moments_of(const Op& op, double rate) {
  const auto step = static_cast<double>(op.step);
  return {.mean = data_of<float>(op.mean),
          .square = data_of<float>(op.square),
          .gradient = data_of<float>(op.gradient),
          .beta1 = static_cast<float>(op.beta1),
          .beta2 = static_cast<float>(op.beta2),
          .rate = static_cast<float>(rate / (1 - std::pow(op.beta1, step))),
          .inverse_square_bias = static_cast<float>(1 / (1 - std::pow(op.beta2, step))),
          .epsilon = static_cast<float>(op.epsilon),
          .gradient_factor = static_cast<float>(op.gradient_factor)};
}

/// Calls body(Weights) for masters alone, or with the copy that layers read.
template <class Body>
void with_weights(const Tensor& masters, const Tensor& rounded, const char* operation, Body body) {
  float* const weight = data_of<float>(masters);
  if (rounded.data == nullptr) return body(Weights<float>{weight, weight});
  with_type_of(rounded, operation, [&]<class Half>(Half) {
    body(Weights<Half>{weight, data_of<Half>(rounded)});
  });
}

}  // namespace
}  // namespace cuda

void CudaBackend::run(Stream& stream, const AddInto& op) {
  cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_over(op.to.size()),
               cuda::add_into, cuda::data_of<float>(op.from), cuda::data_of<float>(op.to),
               static_cast<float>(op.factor), op.to.size());
}

void CudaBackend::run(Stream& stream, const AdamWStep& op) {
  const auto keep = static_cast<float>(1 - op.learning_rate * op.weight_decay);
  cuda::with_weights(op.weight, op.rounded, "AdamWStep", [&]<class Half>(cuda::Weights<Half> w) {
    cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_over(op.weight.size()),
                 cuda::adamw<Half>, cuda::moments_of(op, op.learning_rate), w, keep,
                 op.weight.size());
  });
}

void CudaBackend::run(Stream& stream, const LambDirection& op) {
  cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_over(op.weight.size()),
               cuda::lamb_direction, cuda::moments_of(op, 1), cuda::data_of<float>(op.weight),
               static_cast<float>(op.weight_decay), cuda::data_of<float>(op.gradient),
               op.weight.size());
}

void CudaBackend::run(Stream& stream, const SgdStep& op) {
  const cuda::Sgd arguments{.velocity = cuda::data_of<float>(op.velocity),
                            .gradient = cuda::data_of<float>(op.gradient),
                            .learning_rate = static_cast<float>(op.learning_rate),
                            .momentum = static_cast<float>(op.momentum),
                            .weight_decay = static_cast<float>(op.weight_decay),
                            .gradient_factor = static_cast<float>(op.gradient_factor),
                            .of_gradient = op.nesterov ? 1.0f : 0.0f,
                            .of_velocity = op.nesterov ? static_cast<float>(op.momentum) : 1.0f};
  cuda::with_weights(op.weight, op.rounded, "SgdStep", [&]<class Half>(cuda::Weights<Half> w) {
    cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_over(op.weight.size()),
                 cuda::sgd<Half>, arguments, w, op.weight.size());
  });
}

}  // namespace penstock
