#include "layers/ops/optimizer.h"

#include <cmath>
#include <initializer_list>

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/dispatch.h"
#include "layers/ops/cast.h"

namespace penstock {
namespace {

void expect_equal_sizes(const char* operation, std::initializer_list<Tensor> tensors) {
  const std::int64_t count = tensors.begin()->size();
  for (const Tensor& tensor : tensors)
    if (tensor.size() != count)
      throw ShapeError(std::string(operation) + " was given spans of " + std::to_string(count) +
                       " and " + std::to_string(tensor.size()) + " numbers");
}

// What AdamW and LAMB share, with the factors of one step in the type of their numbers.
template <class T>
struct Moments {
  template <class Op>
  explicit Moments(const Op& op)
      : beta1(static_cast<T>(op.beta1)),
        beta2(static_cast<T>(op.beta2)),
        rest1(static_cast<T>(1 - op.beta1)),
        rest2(static_cast<T>(1 - op.beta2)),
        deviation(static_cast<T>(1 / std::sqrt(1 - std::pow(op.beta2, op.step)))),
        epsilon(static_cast<T>(op.epsilon)),
        gradient(static_cast<T>(op.gradient_factor)) {}

  // Moves the moments by one gradient; rate · mean over the deviation.
  T move(T gradient_of_loss, T& mean, T& square, T rate) const {
    const T g = gradient_of_loss * gradient;
    mean = beta1 * mean + rest1 * g;
    square = beta2 * square + rest2 * g * g;
    return rate * mean / (std::sqrt(square) * deviation + epsilon);
  }

  T beta1, beta2, rest1, rest2, deviation, epsilon, gradient;
};

template <class T>
void adamw(const AdamWStep& op) {
  const Moments<T> moments(op);
  const auto keep = static_cast<T>(1 - op.learning_rate * op.weight_decay);
  const auto rate = static_cast<T>(op.learning_rate / (1 - std::pow(op.beta1, op.step)));
  T* __restrict weight = op.weight.as<T>();
  T* __restrict mean = op.mean.as<T>();
  T* __restrict square = op.square.as<T>();
  const T* __restrict gradient = op.gradient.as<T>();
  const std::int64_t count = op.weight.size();
  for (std::int64_t i = 0; i < count; ++i)
    weight[i] = weight[i] * keep - moments.move(gradient[i], mean[i], square[i], rate);
}

template <class T>
void lamb_direction(const LambDirection& op) {
  const Moments<T> moments(op);
  const auto decay = static_cast<T>(op.weight_decay);
  const auto rate = static_cast<T>(1 / (1 - std::pow(op.beta1, op.step)));
  const T* __restrict weight = op.weight.as<T>();
  T* __restrict mean = op.mean.as<T>();
  T* __restrict square = op.square.as<T>();
  T* __restrict gradient = op.gradient.as<T>();
  const std::int64_t count = op.weight.size();
  for (std::int64_t i = 0; i < count; ++i)
    gradient[i] = moments.move(gradient[i], mean[i], square[i], rate) + decay * weight[i];
}

template <class T>
void sgd(const SgdStep& op) {
  T* __restrict weight = op.weight.as<T>();
  T* __restrict velocity = op.velocity.as<T>();
  const T* __restrict gradient = op.gradient.as<T>();
  const auto rate = static_cast<T>(op.learning_rate);
  const auto momentum = static_cast<T>(op.momentum);
  const auto decay = static_cast<T>(op.weight_decay);
  const auto factor = static_cast<T>(op.gradient_factor);
  const T ahead = op.nesterov ? momentum : T{1};
  const T now = op.nesterov ? T{1} : T{0};
  const std::int64_t count = op.weight.size();
  for (std::int64_t i = 0; i < count; ++i) {
    const T g = gradient[i] * factor + decay * weight[i];
    velocity[i] = momentum * velocity[i] + g;
    weight[i] -= rate * (now * g + ahead * velocity[i]);
  }
}

}  // namespace

void CpuBackend::run(Stream&, const AddInto& op) {
  expect_equal_sizes("AddInto", {op.from, op.to});
  for_real(op.to.dtype, "AddInto", [&]<class T>(T) {
    const T* __restrict from = op.from.as<T>();
    T* __restrict to = op.to.as<T>();
    const std::int64_t count = op.to.size();
    const auto factor = static_cast<T>(op.factor);
    for (std::int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
  });
}

void CpuBackend::run(Stream& stream, const AdamWStep& op) {
  expect_equal_sizes("AdamWStep", {op.weight, op.mean, op.square, op.gradient});
  for_real(op.weight.dtype, "AdamWStep", [&]<class T>(T) { adamw<T>(op); });
  if (op.rounded.data != nullptr) run(stream, Cast{op.weight, op.rounded});
}

void CpuBackend::run(Stream&, const LambDirection& op) {
  expect_equal_sizes("LambDirection", {op.weight, op.mean, op.square, op.gradient});
  for_real(op.weight.dtype, "LambDirection", [&]<class T>(T) { lamb_direction<T>(op); });
}

void CpuBackend::run(Stream& stream, const SgdStep& op) {
  expect_equal_sizes("SgdStep", {op.weight, op.velocity, op.gradient});
  for_real(op.weight.dtype, "SgdStep", [&]<class T>(T) { sgd<T>(op); });
  if (op.rounded.data != nullptr) run(stream, Cast{op.weight, op.rounded});
}

}  // namespace penstock
