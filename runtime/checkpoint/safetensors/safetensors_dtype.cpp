#include "runtime/checkpoint/safetensors/safetensors_dtype.h"

#include <algorithm>
#include <array>
#include <utility>

namespace penstock::runtime {
namespace {

// All dtypes of safetensors 0.7.
constexpr std::array<std::pair<std::string_view, std::uint64_t>, 22> kBits{{
    {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
    {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
    {"I64", 64},        {"U64", 64},
}};

// Each dtype of penstock is listed, so to_safetensors() always finds one.
constexpr std::array<std::pair<std::string_view, layers::DType>, 7> kKept{{
    {"F32", layers::DType::f32},
    {"F64", layers::DType::f64},
    {"F16", layers::DType::f16},
    {"BF16", layers::DType::bf16},
    {"I32", layers::DType::i32},
    {"I64", layers::DType::i64},
    {"U8", layers::DType::u8},
}};

}  // namespace

std::optional<std::uint64_t> safetensors_bits(std::string_view name) {
  for (const auto& [known, bits] : kBits)
    if (known == name) return bits;
  return std::nullopt;
}

std::optional<layers::DType> from_safetensors(std::string_view name) {
  for (const auto& [known, dtype] : kKept)
    if (known == name) return dtype;
  return std::nullopt;
}

std::string_view to_safetensors(layers::DType dtype) {
  return std::find_if(kKept.begin(), kKept.end(),
                      [&](const auto& entry) { return entry.second == dtype; })
      ->first;
}

}  // namespace penstock::runtime
