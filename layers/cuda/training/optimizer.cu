#include <algorithm>
#include <cmath>
#include <type_traits>

#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/core/launch.h"
#include "layers/cuda/core/numbers.h"
#include "layers/cuda/training/optimizer_slots.h"
#include "layers/ops/optimizer.h"

// AdamW (Loshchilov & Hutter 2019), the direction of LAMB (You et al. 2020) and SGD;
// layers/ops/optimizer.h has the formulas. Each step is one kernel over arenas, with kSlices blocks
// of threads for each arena block. It reads and writes every element once: state, gradient, master
// weight and the rounded copy. State may be f32, bf16 or 8-bit codes (optimizer_slots.h).

namespace penstock::layers {
namespace cuda {
namespace {

__global__ void add_into(const float* from, float* to, float factor, std::int64_t count) {
  const std::int64_t i = grid_thread();
  if (i < count) to[i] += factor * from[i];
}

/// GradientFactor in a form that kernels read.
struct Factor {
  const GradientNormResult* result;
  double otherwise;

  __device__ bool skips() const { return result != nullptr && result->skip != 0; }
  __device__ float value() const {
    return static_cast<float>(result != nullptr ? result->clip_coefficient : otherwise);
  }
};

/// Stores new weights in the FP32 masters and, rounded, in the copy that layers read. Half is float
/// if layers read the masters themselves.
template <class Half>
struct Weights {
  float* masters;
  Half* rounded;
  __device__ float get(const ArenaBlock& block, std::int64_t i) const {
    return masters[block.weight + i];
  }
  __device__ void set(const ArenaBlock& block, std::int64_t i, float value) const {
    masters[block.weight + i] = value;
    if constexpr (!std::is_same_v<Half, float>)
      if (block.rounded >= 0) rounded[block.rounded + i] = from_float<Half>(value);
  }
};

/// Arguments of one step that AdamW and LAMB share.
struct Moments {
  const float* gradient;
  float beta1, beta2, rate, inverse_square_bias, epsilon;
  float decay;  // AdamW: 1 - learning rate · weight decay; LAMB: weight decay

  /// Updates the moments of an element. Returns rate · mean / (√square + epsilon), bias-corrected.
  __device__ float move(const ArenaBlock& block, std::int64_t i, Kept& kept, float factor) const {
    const float g = factor * gradient[block.gradient + i];
    kept.first = beta1 * kept.first + (1 - beta1) * g;
    kept.second = beta2 * kept.second + (1 - beta2) * g * g;
    return rate * kept.first / (sqrtf(kept.second * inverse_square_bias) + epsilon);
  }
};

template <class Slots, class Half>
__global__ void adamw(const ArenaBlock* blocks, Slots slots, Moments moments, Weights<Half> weights,
                      Factor factor) {
  if (factor.skips()) return;
  const float of_gradient = factor.value();
  for_elements(blocks, slots, [&](std::int64_t i, const ArenaBlock& block, Kept& kept) {
    weights.set(block, i,
                weights.get(block, i) * moments.decay - moments.move(block, i, kept, of_gradient));
  });
}

/// Writes LAMB's unscaled direction over the gradient. The scale per parameter follows later.
template <class Slots>
__global__ void lamb_direction(const ArenaBlock* blocks, Slots slots, Moments moments,
                               const float* weight, float* direction, Factor factor) {
  if (factor.skips()) return;
  const float of_gradient = factor.value();
  for_elements(blocks, slots, [&](std::int64_t i, const ArenaBlock& block, Kept& kept) {
    direction[block.gradient + i] =
        moments.move(block, i, kept, of_gradient) + moments.decay * weight[block.weight + i];
  });
}

/// Holds the arguments of a step of SGD. It moves by the velocity, or with Nesterov's momentum by
/// gradient + momentum · velocity.
struct Sgd {
  const float* gradient;
  float momentum, weight_decay;
  float of_gradient, of_velocity;  // their weights in the step
};

template <class Slots, class Half>
__global__ void sgd(const ArenaBlock* blocks, Slots slots, Sgd op, Weights<Half> weights,
                    float learning_rate, Factor factor) {
  if (factor.skips()) return;
  const float scale = factor.value();
  for_elements(blocks, slots, [&](std::int64_t i, const ArenaBlock& block, Kept& kept) {
    const float weight = weights.get(block, i);
    const float gradient = scale * op.gradient[block.gradient + i] + op.weight_decay * weight;
    const float velocity = op.momentum * kept.first + gradient;
    kept.first = velocity;
    weights.set(block, i,
                weight - learning_rate * (op.of_gradient * gradient + op.of_velocity * velocity));
  });
}

__global__ void move_averages(const ArenaBlock* blocks, FullSlots<1> averages, const float* weight,
                              float share, Factor factor) {
  if (factor.skips()) return;
  for_elements(blocks, averages, [&](std::int64_t i, const ArenaBlock& block, Kept& kept) {
    kept.first += share * (weight[block.weight + i] - kept.first);
  });
}

/// Returns the arguments of a step. Bias corrections are the same for all elements, so the host
/// computes them in FP64: rate / (1 - beta1^step) and 1 / (1 - beta2^step).
template <class Op>
Moments moments_of(const Op& op, double rate, double decay) {
  const auto step = static_cast<double>(op.step);
  return {.gradient = data_of<float>(op.gradient),
          .beta1 = static_cast<float>(op.beta1),
          .beta2 = static_cast<float>(op.beta2),
          .rate = static_cast<float>(rate / (1 - std::pow(op.beta1, step))),
          .inverse_square_bias = static_cast<float>(1 / (1 - std::pow(op.beta2, step))),
          .epsilon = static_cast<float>(op.epsilon),
          .decay = static_cast<float>(decay)};
}

template <class Op>
Factor factor_of(const Op& op) {
  return {op.factor.result, op.factor.otherwise};
}

template <class Op>
Grid grid_of(const Op& op) {
  return {dim3(static_cast<unsigned>(op.blocks.count), kSlices), dim3(kStepThreads)};
}

/// Calls body(Weights) with the masters alone, or also with the copy that layers read.
template <class Body>
void with_weights(const Tensor& masters, const Tensor& rounded, const char* operation, Body body) {
  float* const weight = data_of<float>(masters);
  if (rounded.data == nullptr) return body(Weights<float>{weight, weight});
  with_type_of(rounded, operation, [&]<class Half>(Half) {
    body(Weights<Half>{weight, data_of<Half>(rounded)});
  });
}

/// Returns a slot's numbers as T, which stands for `dtype` in kernels: bf16 slots are bits.
template <class T>
T* slot_of(const Tensor& arena, DType dtype) {
  if (arena.dtype != dtype) throw_other_type(dtype, arena.dtype);
  return static_cast<T*>(arena.data);
}

CodeSlot code_slot(const Tensor& codes, const Tensor& scales) {
  return {slot_of<std::uint8_t>(codes, DType::u8), slot_of<float>(scales, DType::f32)};
}

/// Calls body(slots) with FullSlots, HalfSlots or CodedSlots of one slot.
template <class Body>
void with_slot(const Tensor& slot, const SlotCoding& coding, Body body) {
  if (slot.dtype == DType::bf16)
    return body(HalfSlots<1>{slot_of<std::uint16_t>(slot, DType::bf16), nullptr, {coding.random}});
  if (slot.dtype != DType::u8) return body(FullSlots<1>{data_of<float>(slot), nullptr});
  CodedSlots<1> slots;
  slots.slots[0] = code_slot(slot, coding.first_scales);
  std::copy_n(kSignedCodes.values, kCodes, slots.values[0]);
  body(slots);
}

/// Does the same for two slots, mean and square.
template <class Body>
void with_slots(const Tensor& mean, const Tensor& square, const SlotCoding& coding, Body body) {
  if (mean.dtype == DType::bf16)
    return body(HalfSlots<2>{slot_of<std::uint16_t>(mean, DType::bf16),
                             slot_of<std::uint16_t>(square, DType::bf16),
                             {coding.random}});
  if (mean.dtype != DType::u8)
    return body(FullSlots<2>{data_of<float>(mean), data_of<float>(square)});
  CodedSlots<2> slots;
  slots.slots[0] = code_slot(mean, coding.first_scales);
  slots.slots[1] = code_slot(square, coding.second_scales);
  std::copy_n(kSignedCodes.values, kCodes, slots.values[0]);
  std::copy_n(kUnsignedCodes.values, kCodes, slots.values[1]);
  body(slots);
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const AddInto& op) {
  cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_over(op.to.size()),
               cuda::add_into, cuda::data_of<float>(op.from), cuda::data_of<float>(op.to),
               static_cast<float>(op.factor), op.to.size());
}

template <>
void CudaBackend::compute(Stream& stream, const AdamWStep& op) {
  const double keep = 1 - op.learning_rate * op.weight_decay;
  cuda::with_slots(op.mean, op.square, op.coding, [&]<class Slots>(const Slots& slots) {
    cuda::with_weights(op.weight, op.rounded, "AdamWStep", [&]<class Half>(cuda::Weights<Half> w) {
      cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_of(op),
                   cuda::adamw<Slots, Half>, op.blocks.first, slots,
                   cuda::moments_of(op, op.learning_rate, keep), w, cuda::factor_of(op));
    });
  });
}

template <>
void CudaBackend::compute(Stream& stream, const LambDirection& op) {
  cuda::with_slots(op.mean, op.square, op.coding, [&]<class Slots>(const Slots& slots) {
    cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_of(op),
                 cuda::lamb_direction<Slots>, op.blocks.first, slots,
                 cuda::moments_of(op, 1, op.weight_decay), cuda::data_of<float>(op.weight),
                 cuda::data_of<float>(op.gradient), cuda::factor_of(op));
  });
}

template <>
void CudaBackend::compute(Stream& stream, const SgdStep& op) {
  const cuda::Sgd arguments{.gradient = cuda::data_of<float>(op.gradient),
                            .momentum = static_cast<float>(op.momentum),
                            .weight_decay = static_cast<float>(op.weight_decay),
                            .of_gradient = op.nesterov ? 1.0f : 0.0f,
                            .of_velocity = op.nesterov ? static_cast<float>(op.momentum) : 1.0f};
  cuda::with_slot(op.velocity, op.coding, [&]<class Slots>(const Slots& slots) {
    cuda::with_weights(op.weight, op.rounded, "SgdStep", [&]<class Half>(cuda::Weights<Half> w) {
      cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_of(op),
                   cuda::sgd<Slots, Half>, op.blocks.first, slots, arguments, w,
                   static_cast<float>(op.learning_rate), cuda::factor_of(op));
    });
  });
}

template <>
void CudaBackend::compute(Stream& stream, const MoveAverages& op) {
  cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_of(op), cuda::move_averages,
               op.blocks.first, cuda::FullSlots<1>{cuda::data_of<float>(op.average), nullptr},
               cuda::data_of<float>(op.weight), static_cast<float>(1 - op.decay),
               cuda::factor_of(op));
}

}  // namespace penstock::layers
