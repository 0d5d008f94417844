#include "layers/cuda/core/numbers.h"

#include <fmt/format.h>

#include "base/error.h"

namespace penstock::layers::cuda {

void throw_no_kernel(const char* operation, DType dtype) {
  throw DeviceError(
      fmt::format("{} on CUDA takes f32, f16 or bf16, not {}", operation, name_of(dtype)));
}

void throw_other_type(DType wanted, DType found) {
  throw ShapeError(
      fmt::format("an operation on CUDA takes {} here, not {}", name_of(wanted), name_of(found)));
}

void throw_head_too_wide(std::int64_t channels, std::int64_t max) {
  throw DeviceError(fmt::format(
      "a head of attention has {} channels, but CUDA's kernels take at most {}: choose more heads",
      channels, max));
}

void throw_two_positions() {
  throw DeviceError(
      "attention in halves has rotary and relative positions, but CUDA's kernels take one of them: "
      "choose one, or compute in fp32");
}

}  // namespace penstock::layers::cuda
