#pragma once

#include <cstddef>
#include <memory>

#include "layers/cpu/halves/half_backend.h"

namespace penstock::runtime {

/// A CPU backend that counts the bytes that are allocated from it, for comparison with a plan.
class CountedBackend final : public layers::HalfCpuBackend {
 public:
  using layers::HalfCpuBackend::HalfCpuBackend;

  layers::Buffer allocate(std::size_t bytes) override {
    allocated_ += bytes;
    return layers::HalfCpuBackend::allocate(bytes);
  }
  std::size_t allocated() const { return allocated_; }  // total bytes of all calls

 private:
  std::size_t allocated_ = 0;
};

}  // namespace penstock::runtime
