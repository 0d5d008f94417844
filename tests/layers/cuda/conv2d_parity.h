#pragma once

#include "layers/ops/conv2d.h"
#include "tests/layers/cuda/parity.h"

namespace penstock::layers {

/// A 2-D convolution of any geometry on both backends.
class Conv2dParity : public Parity {
 protected:
  void compare_forward(const Conv2dGeometry& geometry);
  void compare_backward_input(const Conv2dGeometry& geometry);
  /// Compares the sums of two micro-batches' gradients, up to `largest`.
  void compare_backward_weight(const Conv2dGeometry& geometry, double largest = 1);

 private:
  std::span<std::byte> on_host(const Conv2dGeometry& geometry, std::size_t Workspace::*method);
  std::span<std::byte> on_cuda(const Conv2dGeometry& geometry, std::size_t Workspace::*method);
};

}  // namespace penstock::layers
