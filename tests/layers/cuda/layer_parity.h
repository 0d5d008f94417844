#pragma once

#include <span>
#include <vector>

#include "layers/layer.h"
#include "tests/layers/cuda/parity.h"

namespace penstock::layers {

/// Ragged frames and their texts.
struct TextBatch {
  std::vector<std::int64_t> frames;
  std::vector<std::int32_t> labels, counts;
};

/// Runs a training pass of a layer that reads labels on both backends, and compares losses, output
/// and gradients. The CPU computes in f32.
class LayerParity : public Parity {
 protected:
  void compare(const Layer& layer, std::int64_t channels, const TextBatch& batch);

 private:
  /// Tensors of one backend.
  struct Side {
    Backend& backend;
    Stream& stream;
    LayerPlan plan;
    Tensor x = {}, dx = {}, y = {}, dy = {}, weights = {};
    std::vector<Tensor> params = {}, grads = {}, saved = {};
    std::span<std::byte> workspace = {};
    std::vector<double> losses = {};

    void train(const Layer& layer, const TextBatch& batch);
  };

  Side side(const Layer& layer, std::int64_t channels, const TextBatch& batch, bool on_cuda);
  void place(Side& side, bool on_cuda);
};

}  // namespace penstock::layers
