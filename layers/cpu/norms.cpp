#include <algorithm>
#include <cmath>

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/dispatch.h"
#include "layers/ops/optimizer.h"

namespace penstock {
namespace {

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

}  // namespace penstock
