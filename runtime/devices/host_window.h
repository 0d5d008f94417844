#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "layers/backend.h"
#include "layers/tensor/tensor.h"

namespace penstock::runtime {

/// Shows tensors of a device to code that reads and writes host memory, a part of bounded size at a
/// time. Where the device's memory is the host's, it shows the tensor itself, whole.
class HostWindow {
 public:
  static constexpr std::size_t kBytes = 4 << 20;

  /// Backend and stream must outlive the window.
  HostWindow(layers::Backend& backend, layers::Stream& stream);

  /// The tensor's bytes from byte `begin` on, as many as a part holds. They hold until the next
  /// call.
  std::span<const std::byte> read(const layers::Tensor& tensor, std::size_t begin);

  /// Has `fill` write the whole tensor: it is given one part after the other, each with the byte of
  /// the tensor where it begins.
  using Fill = std::function<void(std::size_t begin, std::span<std::byte> part)>;
  void write(const layers::Tensor& tensor, const Fill& fill);

 private:
  bool shared() const { return backend_.kind() == layers::DeviceKind::cpu; }
  /// Of a tensor's bytes from `begin` on; in memory of the window's own.
  std::span<std::byte> part(const layers::Tensor& tensor, std::size_t begin);

  layers::Backend& backend_;
  layers::Stream& stream_;
  layers::Buffer own_;
};

}  // namespace penstock::runtime
