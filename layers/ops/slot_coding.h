#pragma once

#include "layers/philox.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// What a step needs besides, where the slots of its optimizer are not f32 or f64. It computes in
/// FP32 on numbers that it takes out of the slots and puts back:
///   bf16  rounded up or down at random, up with the probability of what is cut off: so changes
///         below half a unit in the last place arrive on average (layers/random_rounding.h)
///   u8    codes of a map over `scales`, the largest magnitude of each code block
///         (layers/code_map.h)
struct SlotCoding {
  PhiloxStream random = {};   // of bf16; slot_random()
  Tensor first_scales = {};   // of u8, f32: of the mean or the velocity
  Tensor second_scales = {};  // of u8, f32: of the square
};

/// The random numbers of a step, counted from 1: a function of seed and step. Each element of a
/// model takes its own of them.
constexpr PhiloxStream slot_random(std::uint64_t seed, std::int64_t step) {
  const auto number = static_cast<std::uint64_t>(step);
  return philox_stream(seed,
                       {low_word(number), high_word(number), hash_of_name("optimizer.state"), 0});
}

}  // namespace penstock::layers
