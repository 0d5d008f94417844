#pragma once

#include <bit>
#include <cstdint>

#include "layers/philox.h"

namespace penstock::layers {

/// Random bits for element `i` of the norm block at `place` of the model: 16 for each of two slots.
/// One Philox block serves four elements.
struct RoundingBits {
  PhiloxStream random = {};

  constexpr PhiloxBlock of_four(std::int64_t place, std::int64_t i) const {
    return random(static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(i / 4));
  }
  constexpr std::uint32_t operator()(std::int64_t place, std::int64_t i) const {
    const PhiloxBlock four = of_four(place, i);
    // An index that is no constant would put the four on a kernel's stack.
    if (i % 4 < 2) return i % 4 == 0 ? four[0] : four[1];
    return i % 4 == 2 ? four[2] : four[3];
  }
};

/// The bits of the bfloat16 above or below `value`, above with the probability of what is cut off,
/// where `random` is uniform in 16 bits: stochastic rounding, as Gupta et al. 2015 ("Deep Learning
/// with Limited Numerical Precision") have it. Its mean is `value`.
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
