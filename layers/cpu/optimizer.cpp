#include "layers/ops/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "layers/cpu/coded_slot.h"
#include "layers/cpu/cpu_backend.h"
#include "layers/ops/elementwise.h"

// AdamW (Loshchilov & Hutter 2019), the direction of LAMB (You et al. 2020) and SGD;
// layers/ops/optimizer.h has the formulas. Slots in f32 or f64 are updated in place. Slots in bf16
// or 8-bit codes are updated through FP32 copies, one code block at a time (coded_slot.h). Factors
// of a whole step, such as Adam's bias corrections, are computed once in FP64 and rounded to the
// weights' type, so that an element takes a few multiply-adds, a square root and a division.

namespace penstock::layers {
namespace {

bool skips(const GradientFactor& factor) {
  return factor.result != nullptr && factor.result->skip != 0;
}

template <class T>
T value_of(const GradientFactor& factor) {
  return static_cast<T>(factor.result != nullptr ? factor.result->clip_coefficient
                                                 : factor.otherwise);
}

template <class T>
T* at(const Tensor& arena, std::int64_t element) {
  return arena.as<T>() + element;
}

// Arguments of one step that AdamW and LAMB share, in the number type of the weights. √(square / (1
// - beta2^step)) is √square · deviation, which saves each element a division.
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
        gradient(value_of<T>(op.factor)) {}

  // Updates the moments by one gradient. Returns rate · mean / (√square + epsilon), bias-corrected.
  T move(T gradient_of_loss, T& mean, T& square, T rate) const {
    const T g = gradient_of_loss * gradient;
    mean = beta1 * mean + rest1 * g;
    square = beta2 * square + rest2 * g * g;
    return rate * mean / (std::sqrt(square) * deviation + epsilon);
  }

  T beta1, beta2, rest1, rest2, deviation, epsilon, gradient;
};

// Elements that one step updates. `second` is null if the optimizer has one slot.
template <class T>
struct StepElements {
  T *weight, *first, *second, *gradient;
  std::int64_t count;
};

// Decay multiplies the weight and takes no part in the moments, which makes it decoupled.
template <class T>
void step(const AdamWStep& op, const StepElements<T>& elements) {
  const Moments<T> moments(op);
  const auto keep = static_cast<T>(1 - op.learning_rate * op.weight_decay);
  const auto rate = static_cast<T>(op.learning_rate / (1 - std::pow(op.beta1, op.step)));
  T* __restrict weight = elements.weight;
  T* __restrict mean = elements.first;
  T* __restrict square = elements.second;
  const T* __restrict gradient = elements.gradient;
  for (std::int64_t i = 0; i < elements.count; ++i)
    weight[i] = weight[i] * keep - moments.move(gradient[i], mean[i], square[i], rate);
}

// The direction overwrites the gradient. Weights are only read: a parameter's norms decide its
// step, and they are known once all its blocks have a direction.
template <class T>
void step(const LambDirection& op, const StepElements<T>& elements) {
  const Moments<T> moments(op);
  const auto decay = static_cast<T>(op.weight_decay);
  const auto rate = static_cast<T>(1 / (1 - std::pow(op.beta1, op.step)));
  const T* __restrict weight = elements.weight;
  T* __restrict mean = elements.first;
  T* __restrict square = elements.second;
  T* __restrict gradient = elements.gradient;
  for (std::int64_t i = 0; i < elements.count; ++i)
    gradient[i] = moments.move(gradient[i], mean[i], square[i], rate) + decay * weight[i];
}

// The step is now · g + ahead · velocity: the velocity alone, or with Nesterov's momentum g +
// momentum · velocity.
template <class T>
void step(const SgdStep& op, const StepElements<T>& elements) {
  T* __restrict weight = elements.weight;
  T* __restrict velocity = elements.first;
  const T* __restrict gradient = elements.gradient;
  const auto rate = static_cast<T>(op.learning_rate);
  const auto momentum = static_cast<T>(op.momentum);
  const auto decay = static_cast<T>(op.weight_decay);
  const T factor = value_of<T>(op.factor);
  const T ahead = op.nesterov ? momentum : T{1};
  const T now = op.nesterov ? T{1} : T{0};
  for (std::int64_t i = 0; i < elements.count; ++i) {
    const T g = gradient[i] * factor + decay * weight[i];
    velocity[i] = momentum * velocity[i] + g;
    weight[i] -= rate * (now * g + ahead * velocity[i]);
  }
}

// Arenas of the slots; the second has no data if there is only one.
struct StepSlots {
  Tensor first, second;
};
template <class Op>
StepSlots slots_of(const Op& op) {
  return {op.mean, op.square};
}
StepSlots slots_of(const SgdStep& op) { return {op.velocity, {}}; }

// Steps over the blocks in place.
template <class T, class Op>
void step_over_blocks(const Op& op) {
  const StepSlots slots = slots_of(op);
  for (std::int64_t b = 0; b < op.blocks.count; ++b) {
    const ArenaBlock& block = op.blocks.first[b];
    step<T>(op, {at<T>(op.weight, block.weight), at<T>(slots.first, block.slot),
                 slots.second.data != nullptr ? at<T>(slots.second, block.slot) : nullptr,
                 at<T>(op.gradient, block.gradient), block.count});
  }
}

// Does the same on FP32 copies of the slots' numbers, one code block at a time.
template <class Op>
void step_over_coded_slots(const Op& op) {
  const StepSlots slots = slots_of(op);
  const CodedSlot first(slots.first, op.coding.first_scales, CodedSlot::Holds::signed_numbers);
  std::optional<CodedSlot> second;
  if (slots.second.data != nullptr)
    second.emplace(slots.second, op.coding.second_scales, CodedSlot::Holds::squares);
  alignas(kAlignment) float of_first[kCodeBlock], of_second[kCodeBlock];
  CodeBlockBits bits;
  for (std::int64_t b = 0; b < op.blocks.count; ++b) {
    const ArenaBlock& block = op.blocks.first[b];
    for (std::int64_t i = 0; i < block.count; i += kCodeBlock) {
      const CodeBlockPart part{block, i, std::min(kCodeBlock, block.count - i)};
      first.take_out(part, of_first);
      if (second) second->take_out(part, of_second);
      step<float>(op, {at<float>(op.weight, block.weight + i), of_first, of_second,
                       at<float>(op.gradient, block.gradient + i), part.count});
      if (first.rounds_at_random()) bits.draw(op.coding.random, part);
      first.put_back(part, bits, of_first);
      if (second) second->put_back(part, bits, of_second);
    }
  }
}

template <class Op>
void step_over(const Op& op, const char* name) {
  const DType kept = slots_of(op).first.dtype;
  if (kept == DType::bf16 || kept == DType::u8) return step_over_coded_slots(op);
  for_real(op.weight.dtype, name, [&]<class T>(T) { step_over_blocks<T>(op); });
}

Tensor part(const Tensor& arena, std::int64_t first, std::int64_t count) {
  auto* const bytes = static_cast<std::byte*>(arena.data);
  return {bytes + static_cast<std::size_t>(first) * size_of(arena.dtype), arena.dtype, {count}};
}

// Rounds the new weights into the copies that layers read.
template <class Op>
void round(CpuBackend& backend, Stream& stream, const Op& op) {
  for (std::int64_t b = 0; op.rounded.data != nullptr && b < op.blocks.count; ++b) {
    const ArenaBlock& block = op.blocks.first[b];
    if (block.rounded >= 0)
      backend.run(stream, Cast{part(op.weight, block.weight, block.count),
                               part(op.rounded, block.rounded, block.count)});
  }
}

}  // namespace

template <>
void CpuBackend::compute(Stream&, const AddInto& op) {
  if (op.from.size() != op.to.size())
    throw ShapeError(
        fmt::format("AddInto was given spans of {} and {} numbers", op.from.size(), op.to.size()));
  for_real(op.to.dtype, "AddInto", [&]<class T>(T) {
    const T* __restrict from = op.from.as<T>();
    T* __restrict to = op.to.as<T>();
    const std::int64_t count = op.to.size();
    const auto factor = static_cast<T>(op.factor);
    for (std::int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
  });
}

template <>
void CpuBackend::compute(Stream& stream, const AdamWStep& op) {
  if (skips(op.factor)) return;
  step_over(op, "AdamWStep");
  round(*this, stream, op);
}

template <>
void CpuBackend::compute(Stream&, const LambDirection& op) {
  if (skips(op.factor)) return;
  step_over(op, "LambDirection");
}

template <>
void CpuBackend::compute(Stream& stream, const SgdStep& op) {
  if (skips(op.factor)) return;
  step_over(op, "SgdStep");
  round(*this, stream, op);
}

template <>
void CpuBackend::compute(Stream&, const MoveAverages& op) {
  if (skips(op.factor)) return;
  for_real(op.weight.dtype, "MoveAverages", [&]<class T>(T) {
    const auto share = static_cast<T>(1 - op.decay);
    for (std::int64_t b = 0; b < op.blocks.count; ++b) {
      const ArenaBlock& block = op.blocks.first[b];
      const T* __restrict weight = at<T>(op.weight, block.weight);
      T* __restrict average = at<T>(op.average, block.slot);
      for (std::int64_t i = 0; i < block.count; ++i) average[i] += share * (weight[i] - average[i]);
    }
  });
}

}  // namespace penstock::layers
