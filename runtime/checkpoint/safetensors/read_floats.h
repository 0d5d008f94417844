#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/checkpoint/checkpoint.h"

namespace penstock::runtime {

/// Throws CheckpointError unless the checkpoint has a tensor of that name and shape in FP32, FP16
/// or BF16.
void expect_floats(const Checkpoint& checkpoint, std::string_view name, const layers::Shape& shape);

/// Reads elements of such a tensor from `begin` on as FP32. The conversion from half precision is
/// exact.
void read_floats(const Checkpoint& checkpoint, std::string_view name, std::int64_t begin,
                 std::span<float> out);

}  // namespace penstock::runtime
