#pragma once

#include "layers/philox.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Further arguments of a step if the slots of its optimizer are not f32 or f64. The step decodes
/// the slots to FP32, computes, and encodes them again:
///   bf16  rounded stochastically, so that changes below half a unit in the last place arrive on
///         average (layers/random_rounding.h)
///   u8    codes of a map, times `scales`, the largest magnitude of each code block
///         (layers/code_map.h)
struct SlotCoding {
  PhiloxStream random = {};   // for bf16; slot_random()
  Tensor first_scales = {};   // for u8, f32: scales of the mean or the velocity
  Tensor second_scales = {};  // for u8, f32: scales of the square
};

/// Returns the random numbers of a step, counted from 1: a function of seed and step. Each element
/// of a model takes its own of them.
constexpr PhiloxStream slot_random(std::uint64_t seed, std::int64_t step) {
  const auto number = static_cast<std::uint64_t>(step);
  return philox_stream(seed,
                       {low_word(number), high_word(number), hash_of_name("optimizer.state"), 0});
}

}  // namespace penstock::layers
