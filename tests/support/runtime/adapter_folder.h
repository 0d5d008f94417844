#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "layers/tensor/tensor.h"

namespace penstock::test {

/// The settings of an adapter of rank 2 and scale 3 / 2 for q_proj alone.
inline constexpr std::string_view kQueriesConfig =
    R"({"peft_type": "LORA", "r": 2, "lora_alpha": 3, "target_modules": ["q_proj"]})";

/// Writes a folder as PEFT saves an adapter. Names are those within the base; the numbers are
/// seeded.
void write_adapter(const std::filesystem::path& folder, std::string_view config,
                   const std::map<std::string, layers::Shape>& tensors);

}  // namespace penstock::test
