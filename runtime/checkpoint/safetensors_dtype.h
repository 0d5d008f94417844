#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "layers/tensor/dtype.h"

namespace penstock::runtime {

/// Bits of one number of a safetensors dtype ("F32", "BOOL", "F8_E4M3", …), or nothing for a name
/// that the format does not know.
[[nodiscard]] std::optional<std::uint64_t> safetensors_bits(std::string_view name);

/// The dtype that penstock keeps numbers in, or nothing for the others ("I8", "BOOL", …).
[[nodiscard]] std::optional<layers::DType> from_safetensors(std::string_view name);

/// "F32", "F64", "F16", "BF16", "I32", "I64", "U8".
[[nodiscard]] std::string_view to_safetensors(layers::DType dtype);

}  // namespace penstock::runtime
