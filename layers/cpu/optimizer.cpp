#include "layers/ops/optimizer.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/dispatch.h"

namespace penstock {
namespace {

void expect_equal_sizes(const char* operation, std::initializer_list<Tensor> tensors) {
  const std::int64_t count = tensors.begin()->size();
  for (const Tensor& tensor : tensors)
    if (tensor.size() != count)
      throw ShapeError(std::string(operation) + " was given spans of " + std::to_string(count) +
                       " and " + std::to_string(tensor.size()) + " numbers");
}

// Lanes of a fixed number, so that the order of the sum is one and the compiler may vectorise.
template <class T>
double squared_sum(const T* values, std::int64_t count) {
  constexpr int lanes = 16;
  double sums[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (int lane = 0; lane < lanes; ++lane) {
      const double value = values[i + lane];
      sums[lane] += value * value;
    }
  for (int lane = 0; i < count; ++i, ++lane)
    sums[lane] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  double total = 0;
  for (double sum : sums) total += sum;
  return total;
}

// NaN if a value is: comparisons with NaN are false.
template <class T>
double largest_magnitude(const T* values, std::int64_t count) {
  T largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const T value = std::abs(values[i]);
    largest = largest > value || largest != largest ? largest : value;
  }
  return static_cast<double>(largest);
}

// out[b] = reduce(first of block b, its count).
template <class T>
void for_blocks(const char* operation, const Tensor& values, std::span<double> out,
                double (*reduce)(const T*, std::int64_t)) {
  const std::int64_t count = values.size();
  const std::int64_t blocks = (count + kNormBlock - 1) / kNormBlock;
  if (static_cast<std::int64_t>(out.size()) != blocks)
    throw ShapeError(std::string(operation) + " of " + std::to_string(count) + " numbers has " +
                     std::to_string(blocks) + " blocks, and was given room for " +
                     std::to_string(out.size()));
  for (std::int64_t b = 0; b < blocks; ++b)
    out[static_cast<std::size_t>(b)] =
        reduce(values.as<T>() + b * kNormBlock, std::min(kNormBlock, count - b * kNormBlock));
}

// The factors of one AdamW step in the type of its numbers.
template <class T>
struct AdamWFactors {
  explicit AdamWFactors(const AdamWStep& op)
      : keep(static_cast<T>(1 - op.learning_rate * op.weight_decay)),
        beta1(static_cast<T>(op.beta1)),
        beta2(static_cast<T>(op.beta2)),
        rest1(static_cast<T>(1 - op.beta1)),
        rest2(static_cast<T>(1 - op.beta2)),
        rate(static_cast<T>(op.learning_rate / (1 - std::pow(op.beta1, op.step)))),
        deviation(static_cast<T>(1 / std::sqrt(1 - std::pow(op.beta2, op.step)))),
        epsilon(static_cast<T>(op.epsilon)),
        gradient(static_cast<T>(op.gradient_factor)) {}
  T keep, beta1, beta2, rest1, rest2, rate, deviation, epsilon, gradient;
};

template <class T>
void adamw(const AdamWStep& op) {
  const AdamWFactors<T> f(op);
  T* __restrict weight = op.weight.as<T>();
  T* __restrict mean = op.mean.as<T>();
  T* __restrict square = op.square.as<T>();
  const T* __restrict gradient = op.gradient.as<T>();
  const std::int64_t count = op.weight.size();
  for (std::int64_t i = 0; i < count; ++i) {
    const T g = gradient[i] * f.gradient;
    mean[i] = f.beta1 * mean[i] + f.rest1 * g;
    square[i] = f.beta2 * square[i] + f.rest2 * g * g;
    weight[i] =
        weight[i] * f.keep - f.rate * mean[i] / (std::sqrt(square[i]) * f.deviation + f.epsilon);
  }
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

void CpuBackend::run(Stream&, const SquaredSums& op) {
  for_real(op.values.dtype, "SquaredSums",
           [&]<class T>(T) { for_blocks("SquaredSums", op.values, op.sums, squared_sum<T>); });
}

void CpuBackend::run(Stream&, const LargestMagnitude& op) {
  for_real(op.values.dtype, "LargestMagnitude", [&]<class T>(T) {
    for_blocks("LargestMagnitude", op.values, op.largest, largest_magnitude<T>);
  });
}

void CpuBackend::run(Stream&, const AddInto& op) {
  expect_equal_sizes("AddInto", {op.from, op.to});
  for_real(op.to.dtype, "AddInto", [&]<class T>(T) {
    const T* __restrict from = op.from.as<T>();
    T* __restrict to = op.to.as<T>();
    const std::int64_t count = op.to.size();
    for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
  });
}

void CpuBackend::run(Stream&, const AdamWStep& op) {
  expect_equal_sizes("AdamWStep", {op.weight, op.mean, op.square, op.gradient});
  for_real(op.weight.dtype, "AdamWStep", [&]<class T>(T) { adamw<T>(op); });
}

void CpuBackend::run(Stream&, const SgdStep& op) {
  expect_equal_sizes("SgdStep", {op.weight, op.velocity, op.gradient});
  for_real(op.weight.dtype, "SgdStep", [&]<class T>(T) { sgd<T>(op); });
}

}  // namespace penstock
