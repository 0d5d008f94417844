#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "layers/ops/attention.h"
#include "layers/ops/conv1d.h"
#include "layers/ops/conv2d.h"
#include "layers/ops/recurrence.h"
#include "layers/tensor/dtype.h"

// Bytes of workspace that operations take on the CPU.
namespace penstock::layers::cpu {

Workspace attention_workspace(const AttentionGeometry& geometry, bool relative, DType dtype);
std::size_t attention_cached_workspace(const AttentionGeometry& geometry, DType dtype);
std::size_t ctc_workspace(std::span<const std::int64_t> lengths, std::int64_t classes, DType dtype);
Workspace conv1d_workspace(const Conv1dGeometry& geometry, DType dtype);
Workspace conv2d_workspace(const Conv2dGeometry& geometry, DType dtype);
std::size_t depthwise_conv1d_workspace(const DepthwiseConv1dSize& size, DType dtype);
Workspace recurrence_workspace(const RecurrenceShape& shape, DType dtype);
std::size_t transducer_lattice_workspace(std::span<const std::int64_t> lengths,
                                         std::span<const std::int32_t> labels);

}  // namespace penstock::layers::cpu
