#include "layers/cpu/halves/half_backend.h"

#include <fmt/format.h>

#include "base/error.h"
#include "layers/ops/elementwise.h"
#include "layers/ops/list.h"

namespace penstock::layers {

// Copies are taken from the end of the lent workspace downwards. The operation itself uses the
// workspace from its start.
Tensor Widening::room_for(const Tensor& half) {
  const std::size_t bytes = aligned(static_cast<std::size_t>(half.size()) * sizeof(float));
  if (stream_.lent().data() == nullptr)
    return {own_.emplace_back(host_buffer(bytes)).data(), DType::f32, half.shape};
  if (bytes > left_.size())
    throw ShapeError(
        fmt::format("a copy of halves in FP32 takes {} bytes, but {} are left of a workspace of {}",
                    bytes, left_.size(), stream_.lent().size()));
  left_ = left_.first(left_.size() - bytes);
  return {left_.data() + left_.size(), DType::f32, half.shape};
}

// Cast names no operands(), so it runs on 16-bit numbers themselves and is not widened in turn.
void Widening::read(Tensor& tensor) {
  if (!is_half(tensor.dtype) || tensor.data == nullptr) return;
  const Tensor wide = room_for(tensor);
  backend_.run(stream_, Cast{tensor, wide});
  tensor = wide;
}

void Widening::write(Tensor& tensor) {
  if (!is_half(tensor.dtype) || tensor.data == nullptr) return;
  const Tensor wide = room_for(tensor);
  written_.push_back({wide, tensor});
  tensor = wide;
}

void Widening::round() {
  for (const Pair& pair : written_) backend_.run(stream_, Cast{pair.wide, pair.half});
}

// CpuBackend has entered its own functions, which these replace.
HalfCpuBackend::HalfCpuBackend(int threads) : CpuBackend(threads) {
  set_operations<HalfCpuBackend>(operations_, Operations{});
}

std::unique_ptr<Backend> make_cpu_backend(int threads) {
  return std::make_unique<HalfCpuBackend>(threads);
}

}  // namespace penstock::layers
