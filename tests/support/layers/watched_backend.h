#pragma once

#include <algorithm>

#include "layers/cpu/halves/half_backend.h"

namespace penstock::test {

/// A CPU backend that counts what is asked of it. Told so, it passes for a device whose memory the
/// host can't read, so that everything is copied in and out.
class WatchedBackend final : public layers::HalfCpuBackend {
 public:
  explicit WatchedBackend(layers::DeviceKind kind = layers::DeviceKind::cpu)
      : layers::HalfCpuBackend(1), kind_(kind) {}

  layers::DeviceKind kind() const override { return kind_; }
  layers::Buffer allocate(std::size_t bytes) override {
    allocated += bytes;
    return layers::HalfCpuBackend::allocate(bytes);
  }
  layers::Buffer allocate_host(std::size_t bytes) override {
    allocated_host += bytes;
    return layers::HalfCpuBackend::allocate_host(bytes);
  }
  void copy_in(layers::Stream& stream, void* device, const void* host, std::size_t bytes) override {
    largest_copy = std::max(largest_copy, bytes);
    layers::HalfCpuBackend::copy_in(stream, device, host, bytes);
  }
  void copy_out(layers::Stream& stream, void* host, const void* device,
                std::size_t bytes) override {
    largest_copy = std::max(largest_copy, bytes);
    layers::HalfCpuBackend::copy_out(stream, host, device, bytes);
  }

  std::size_t allocated = 0;       // bytes, of all calls
  std::size_t allocated_host = 0;  // the same of the host's memory
  std::size_t largest_copy = 0;    // bytes of one call

 private:
  layers::DeviceKind kind_;
};

}  // namespace penstock::test
