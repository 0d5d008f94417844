#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/checkpoint/checkpoint.h"

namespace penstock::runtime {

/// CheckpointError unless the checkpoint has such a tensor, of that shape, in FP32, FP16 or BF16.
void expect_floats(const Checkpoint& checkpoint, std::string_view name, const layers::Shape& shape);

/// Elements of such a tensor from `begin` on as FP32, into which halves go exactly.
void read_floats(const Checkpoint& checkpoint, std::string_view name, std::int64_t begin,
                 std::span<float> out);

}  // namespace penstock::runtime
