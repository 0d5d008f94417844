#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "layers/layer_plan.h"

namespace penstock::layers {

/// Returns the bytes of workspace for FP32 copies of one operation's 16-bit operands, with `counts`
/// elements each. The CPU widens what an operation reads and rounds what it wrote. 0 on CUDA, and
/// for other dtypes.
inline std::size_t widened(const BackendSizes& sizes, std::initializer_list<std::int64_t> counts) {
  std::size_t bytes = 0;
  if (sizes.device == DeviceKind::cpu && is_half(sizes.compute))
    for (const std::int64_t count : counts)
      bytes += aligned(static_cast<std::size_t>(count) * sizeof(float));
  return bytes;
}

/// Adds memory for FP32 copies to the end of each method's workspace, where the CPU backend takes
/// it.
inline void add_copies(Workspace& workspace, const Workspace& copies) {
  const auto add = [](std::size_t& bytes, std::size_t more) {
    if (more > 0) bytes = aligned(bytes) + more;
  };
  add(workspace.forward, copies.forward);
  add(workspace.backward_input, copies.backward_input);
  add(workspace.backward_weight, copies.backward_weight);
}

}  // namespace penstock::layers
