#pragma once

#include <bit>
#include <cstdint>

#include "layers/philox.h"

namespace penstock::layers {

/// Random bits for element `i` of the norm block at `place` of the model: 16 bits for each of two
/// slots. One Philox block serves four elements.
struct RoundingBits {
  PhiloxStream random = {};

  constexpr PhiloxBlock of_four(std::int64_t place, std::int64_t i) const {
    return random(static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(i / 4));
  }
  constexpr std::uint32_t operator()(std::int64_t place, std::int64_t i) const {
    const PhiloxBlock four = of_four(place, i);
    // A dynamic index would put the four words on a kernel's stack.
    if (i % 4 < 2) return i % 4 == 0 ? four[0] : four[1];
    return i % 4 == 2 ? four[2] : four[3];
  }
};

/// Rounds `value` to bfloat16 stochastically (Gupta et al. 2015, "Deep Learning with Limited
/// Numerical Precision") and returns the bits: up with a probability equal to the fraction that is
/// cut off, else down. `random` is uniform in 16 bits. The mean of the result is `value`.
constexpr std::uint16_t round_at_random(float value, std::uint32_t random) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)  // NaN stays NaN
    return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + (random & 0xffffu)) >> 16);
}

constexpr float from_bfloat16_bits(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace penstock::layers
