#pragma once

#include <algorithm>

#include "layers/cpu/halves/half_backend.h"

namespace penstock::test {

/// A CPU backend that counts what is asked of it. Told so, it passes for a device whose memory the
/// host can't read, so that everything is copied in and out.
class WatchedBackend final : public HalfCpuBackend {
 public:
  explicit WatchedBackend(DeviceKind kind = DeviceKind::cpu) : HalfCpuBackend(1), kind_(kind) {}

  DeviceKind kind() const override { return kind_; }
  Buffer allocate(std::size_t bytes) override {
    allocated += bytes;
    return HalfCpuBackend::allocate(bytes);
  }
  void copy_in(Stream& stream, void* device, const void* host, std::size_t bytes) override {
    largest_copy = std::max(largest_copy, bytes);
    HalfCpuBackend::copy_in(stream, device, host, bytes);
  }
  void copy_out(Stream& stream, void* host, const void* device, std::size_t bytes) override {
    largest_copy = std::max(largest_copy, bytes);
    HalfCpuBackend::copy_out(stream, host, device, bytes);
  }

  std::size_t allocated = 0;     // bytes, of all calls
  std::size_t largest_copy = 0;  // bytes of one call

 private:
  DeviceKind kind_;
};

}  // namespace penstock::test
