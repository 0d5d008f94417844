#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "layers/tensor/dtype.h"

// Bytes of workspace that operations take on the CPU.
namespace penstock::cpu {

std::size_t ctc_workspace(std::span<const std::int64_t> lengths, std::int64_t classes, DType dtype);

}  // namespace penstock::cpu
