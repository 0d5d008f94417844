#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "layers/layer.h"

namespace penstock {

/// A model: its layers in order, and the channels of the frames that enter the first.
struct Chain {
  std::vector<std::unique_ptr<Layer>> layers;
  int features = 0;

  int size() const { return static_cast<int>(layers.size()); }
};

/// What enters the chain for utterances of `lengths` feature frames: one matrix of `features`
/// channels in the compute type.
ActivationDecl chain_input(const Chain& chain, std::span<const std::int64_t> lengths,
                           const BackendSizes& sizes);

/// Every layer's plan for a micro-batch of utterances of `lengths` feature frames. ShapeError
/// where layers do not fit each other.
std::vector<LayerPlan> plan_chain(const Chain& chain, std::span<const std::int64_t> lengths,
                                  const BackendSizes& sizes);

/// Frames of each utterance that enter the loss (the first layer that needs targets, else leave
/// the chain), which bound the labels that it can have.
std::vector<std::int64_t> output_frames(const Chain& chain, std::span<const std::int64_t> lengths);

}  // namespace penstock
