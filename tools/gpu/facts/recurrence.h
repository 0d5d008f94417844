#pragma once

#include <vector>

#include "layers/cuda/products/product.h"
#include "layers/ops/recurrence.h"
#include "tools/gpu/facts/device_tensors.h"
#include "tools/gpu/facts/facts.h"

namespace penstock::tools {

/// A number of utterances that all have the same number of frames.
struct UtterancesOfFrames {
  std::int64_t utterances, frames;
};

/// Runs a recurrence's passes, and the products of a time step that is not fused. Their operands
/// are noise.
class Recurrence {
 public:
  Recurrence(layers::Backend& backend, layers::CudaStream& stream, const RecurrenceCase& of,
             const UtterancesOfFrames& size);

  [[nodiscard]] bool fused() const;
  void forward() const;
  void backward() const;
  layers::cuda::Product product_forward() const;
  layers::cuda::Product product_backward() const;

 private:
  layers::RecurrenceShape shape() const;
  /// Returns a matrix per direction, with a row for each utterance.
  layers::cuda::Matrix of_utterances(const layers::Tensor& tensor, std::int64_t width) const;
  layers::cuda::Matrix of_weights() const;

  layers::Backend& backend_;
  layers::CudaStream& stream_;
  DeviceTensors memory_;
  layers::DType dtype_;
  std::int64_t hidden_;
  std::vector<std::int64_t> lengths_;
  layers::Tensor p_, w_, b_, y_, h_, u_;  // h_ and u_ serve the products alone
  layers::RecurrenceKept kept_;
  std::span<std::byte> workspace_;
};

}  // namespace penstock::tools
