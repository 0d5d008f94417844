#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "layers/backend.h"

namespace penstock::runtime {

/// Host memory through which features reach a device beside its work; two micro-batches take turns
/// in it.
class FeatureStaging {
 public:
  using Fill = std::function<void(std::span<float> x_FC, std::span<float> weights)>;

  /// Has `fill` write host memory, and copies that to `x_FC` and `weights` of the device.
  void carry(layers::Backend& backend, layers::Stream& stream, const Fill& fill,
             std::span<float> x_FC, std::span<float> weights);

 private:
  struct Part {
    layers::Buffer memory;
    std::unique_ptr<layers::Event> left;  // null before the first turn
  };
  void grow(Part& part, layers::Backend& backend, std::size_t bytes);

  std::array<Part, 2> parts_;
  std::vector<layers::Buffer> outgrown_;
  std::size_t turn_ = 0;
};

}  // namespace penstock::runtime
