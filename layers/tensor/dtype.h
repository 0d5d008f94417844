#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace penstock::layers {

/// Number formats of tensors. Sums of weight gradients, statistics and losses are never narrower
/// than f32.
enum class DType : std::uint8_t { f32, f64, f16, bf16, i32, i64, u8 };

/// Returns the bytes of one number.
std::size_t size_of(DType dtype);

/// Returns "f32", "f64", "f16", "bf16", "i32", "i64" or "u8".
std::string_view name_of(DType dtype);

constexpr bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

/// Returns the format in which numbers of this one are multiplied and added: f32 for 16-bit
/// formats, else itself.
constexpr DType arithmetic_of(DType dtype) { return is_half(dtype) ? DType::f32 : dtype; }

/// IEEE 754 binary16 and bfloat16, as stored. Rounding is to nearest, ties to even.
struct Half {
  std::uint16_t bits = 0;
};
struct BFloat16 {
  std::uint16_t bits = 0;
};

Half to_half(float value);
BFloat16 to_bfloat16(float value);
float to_float(Half value);
float to_float(BFloat16 value);

/// Writes `values` as numbers of `dtype`, which is f32, f16 or bf16. `to` has room for as many.
void round_floats(std::span<const float> values, DType dtype, std::span<std::byte> to);

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<Half> {
  static constexpr DType value = DType::f16;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::u8;
};

}  // namespace penstock::layers
