#include "layers/ops/norms.h"

#include <algorithm>
#include <cmath>

#include "layers/cpu/cpu_backend.h"

namespace penstock::layers {
namespace {

// Returns the sum of squares, in a fixed number of lanes. So the order is always the same, and the
// compiler can vectorise it.
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

// Returns the larger one, or NaN if either is NaN: comparisons with NaN are false.
template <class T>
T largest_or_nan(T largest, T value) {
  return largest > value || largest != largest ? largest : value;
}

// A maximum is the same in any order, unlike a sum, so it needs no lanes.
template <class T>
double largest_magnitude(const T* values, std::int64_t count) {
  T largest = 0;
  for (std::int64_t i = 0; i < count; ++i) largest = largest_or_nan(largest, std::abs(values[i]));
  return static_cast<double>(largest);
}

// Sets out[place] = reduce(first number of a block, its count) for each block.
template <class T, class Op>
void for_blocks(const Op& op, double* out, double (*reduce)(const T*, std::int64_t)) {
  for (std::int64_t b = 0; b < op.blocks.count; ++b) {
    const ArenaBlock& block = op.blocks.first[b];
    const std::int64_t first = op.of == ArenaOf::weights ? block.weight : block.gradient;
    out[block.place] = reduce(op.arena.template as<T>() + first, block.count);
  }
}

}  // namespace

template <>
void CpuBackend::compute(Stream&, const SquaredSums& op) {
  for_real(op.arena.dtype, "SquaredSums",
           [&]<class T>(T) { for_blocks<T>(op, op.sums, squared_sum<T>); });
}

template <>
void CpuBackend::compute(Stream&, const LargestMagnitude& op) {
  for_real(op.arena.dtype, "LargestMagnitude",
           [&]<class T>(T) { for_blocks<T>(op, op.largest, largest_magnitude<T>); });
}

// Blocks are added in the order of the model, whoever computed their sums, so every rank and every
// division of the model has the same norm.
template <>
void CpuBackend::compute(Stream&, const GradientNorm& op) {
  double sum = 0, largest = 0;
  for (std::int64_t b = 0; b < op.blocks; ++b) {
    sum += op.sums[b];
    if (op.largest != nullptr) largest = largest_or_nan(largest, op.largest[b]);
  }
  GradientNormResult& result = *op.result;
  result.norm = std::sqrt(sum) / op.loss_scale;
  const double clip = op.clip_norm == 0 ? 1 : std::min(1.0, op.clip_norm / (result.norm + 1e-6));
  result.clip_coefficient = clip / op.loss_scale;
  result.largest = largest / op.loss_scale;
  result.skip = std::isfinite(result.norm) ? 0 : 1;
}

}  // namespace penstock::layers
