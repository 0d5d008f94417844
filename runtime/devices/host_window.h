#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "layers/backend.h"
#include "layers/tensor/tensor.h"

namespace penstock::runtime {

/// Lets host code read and write tensors of a device, one part of bounded size at a time. If the
/// device's memory is the host's, the window is the whole tensor itself.
class HostWindow {
 public:
  static constexpr std::size_t kBytes = 4 << 20;

  /// Backend and stream must outlive the window.
  HostWindow(layers::Backend& backend, layers::Stream& stream);

  /// Returns the tensor's bytes from byte `begin` on, as many as fit into a part. They are valid
  /// until the next call.
  std::span<const std::byte> read(const layers::Tensor& tensor, std::size_t begin);

  /// Writes the whole tensor with `fill`, part by part. `fill` gets each part and the offset of its
  /// first byte within the tensor.
  using Fill = std::function<void(std::size_t begin, std::span<std::byte> part)>;
  void write(const layers::Tensor& tensor, const Fill& fill);

 private:
  bool shared() const { return backend_.kind() == layers::DeviceKind::cpu; }
  /// Returns a buffer of the window for the tensor's bytes from `begin` on.
  std::span<std::byte> part(const layers::Tensor& tensor, std::size_t begin);

  layers::Backend& backend_;
  layers::Stream& stream_;
  layers::Buffer own_;
};

}  // namespace penstock::runtime
