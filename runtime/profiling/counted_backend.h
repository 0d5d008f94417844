#pragma once

#include <cstddef>
#include <memory>

#include "layers/cpu/halves/half_backend.h"

namespace penstock {

/// A CPU backend that counts what is allocated of it, to be compared with a plan.
class CountedBackend final : public HalfCpuBackend {
 public:
  using HalfCpuBackend::HalfCpuBackend;

  Buffer allocate(std::size_t bytes) override {
    allocated_ += bytes;
    return HalfCpuBackend::allocate(bytes);
  }
  std::size_t allocated() const { return allocated_; }  // bytes, of all calls

 private:
  std::size_t allocated_ = 0;
};

}  // namespace penstock
