#include "layers/tensor/dtype.h"

#include <algorithm>
#include <bit>
#include <cmath>

// Numbers are converted by their bits, so that the results are the same on every machine:
//           sign  exponent  mantissa   bias  largest finite
//   f32      1       8         23      127   3.4e38
//   f16      1       5         10       15   65504
//   bf16     1       8          7      127   3.4e38
// An exponent of all ones is infinity, or NaN if the mantissa is not 0. An exponent of 0 is a
// subnormal number, with no implicit leading 1. bf16 is the upper half of an f32.

namespace penstock::layers {

std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::u8:
      return 1;
  }
  return 0;
}

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
    case DType::u8:
      return "u8";
  }
  return "?";
}

namespace {

// Drops the low `shift` bits of `value`, rounding to nearest, ties to even. A mantissa that rounds
// up past its last bit carries into the exponent, which is the right result.
std::uint32_t round_off(std::uint32_t value, int shift) {
  const std::uint32_t half = (1u << (shift - 1)) - 1;
  return (value + half + ((value >> shift) & 1u)) >> shift;
}

}  // namespace

// 0x7f800000 is infinity, and greater magnitudes are NaN. The least normal f16, 2^-14, is
// 0x38800000.
Half to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {static_cast<std::uint16_t>(sign | 0x7e00u)};
  // 65520 and above round to infinity.
  if (magnitude >= 0x477ff000u) return {static_cast<std::uint16_t>(sign | 0x7c00u)};
  if (magnitude >= 0x38800000u)  // normal: rebias the exponent from 127 to 15
    return {static_cast<std::uint16_t>(sign | round_off(magnitude - (112u << 23), 13))};
  // Subnormal: the spacing is 2^-24, and the sum below rounds as the hardware does.
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p24f;
  return {static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(scaled)))};
}

// A NaN gets a mantissa bit that stays, since its own may all be in the half that is cut off.
BFloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};
  return {static_cast<std::uint16_t>(round_off(bits, 16))};
}

// Every f16 is an f32, so this is exact. 112 is the difference of the biases.
float to_float(Half value) {
  const std::uint32_t sign = (value.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (value.bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = value.bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

float to_float(BFloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

void round_floats(std::span<const float> values, DType dtype, std::span<std::byte> to) {
  if (dtype == DType::f16)
    std::ranges::transform(values, reinterpret_cast<Half*>(to.data()), to_half);
  else if (dtype == DType::bf16)
    std::ranges::transform(values, reinterpret_cast<BFloat16*>(to.data()), to_bfloat16);
  else
    std::ranges::copy(std::as_bytes(values), to.begin());
}

}  // namespace penstock::layers
