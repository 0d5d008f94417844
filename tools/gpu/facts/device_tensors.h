#pragma once

#include <deque>

#include "layers/backend.h"
#include "layers/cuda/core/cuda_stream.h"
#include "layers/initialise.h"

namespace penstock::tools {

/// Allocates device memory, filled with zeros or noise. The object owns it.
class DeviceTensors {
 public:
  DeviceTensors(layers::Backend& backend, layers::CudaStream& stream)
      : backend_(backend), stream_(stream) {}

  [[nodiscard]] layers::Tensor zeros(layers::DType dtype, const layers::Shape& shape) {
    const auto bytes =
        static_cast<std::size_t>(layers::element_count(shape)) * layers::size_of(dtype);
    return {memory(bytes).data(), dtype, shape};
  }
  [[nodiscard]] layers::Tensor noise(layers::DType dtype, const layers::Shape& shape,
                                     float max = 1) {
    const layers::Tensor tensor = zeros(dtype, shape);
    layers::fill_with_noise(backend_, stream_, tensor, max);
    return tensor;
  }
  [[nodiscard]] std::span<std::byte> memory(std::size_t bytes) {
    const layers::Buffer& buffer = buffers_.emplace_back(backend_.allocate(bytes));
    backend_.zero(stream_, buffer.data(), bytes);
    return {buffer.data(), bytes};
  }

 private:
  layers::Backend& backend_;
  layers::CudaStream& stream_;
  std::deque<layers::Buffer> buffers_;
};

}  // namespace penstock::tools
