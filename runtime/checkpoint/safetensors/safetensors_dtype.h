#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "layers/tensor/dtype.h"

namespace penstock::runtime {

/// Returns the bits per number of a safetensors dtype ("F32", "BOOL", "F8_E4M3", …). Returns
/// nothing for a name that the format does not define.
[[nodiscard]] std::optional<std::uint64_t> safetensors_bits(std::string_view name);

/// Returns the matching dtype of penstock. Returns nothing if there is none ("I8", "BOOL", …).
[[nodiscard]] std::optional<layers::DType> from_safetensors(std::string_view name);

/// Returns the name of a dtype: "F32", "F64", "F16", "BF16", "I32", "I64" or "U8".
[[nodiscard]] std::string_view to_safetensors(layers::DType dtype);

}  // namespace penstock::runtime
