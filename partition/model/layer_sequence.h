#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "layers/layer.h"

namespace penstock::partition {

/// A model: its layers in order, and the channels of the frames that enter the first.
struct LayerSequence {
  std::vector<std::unique_ptr<layers::Layer>> layers;
  int features = 0;

  int size() const { return static_cast<int>(layers.size()); }
};

/// What enters the layer sequence for utterances of `lengths` feature frames: one matrix of
/// `features` channels in the compute type.
layers::ActivationDecl sequence_input(const LayerSequence& sequence,
                                      std::span<const std::int64_t> lengths,
                                      const layers::BackendSizes& sizes);

/// Every layer's plan for a micro-batch of utterances of `lengths` feature frames. ShapeError
/// where layers do not fit each other.
std::vector<layers::LayerPlan> plan_layers(const LayerSequence& sequence,
                                           std::span<const std::int64_t> lengths,
                                           const layers::BackendSizes& sizes);

/// Every layer's plan for no utterance: parameters, state and sums, which follow from the layers
/// alone.
std::vector<layers::LayerPlan> plan_without_frames(const LayerSequence& sequence,
                                                   const layers::BackendSizes& sizes);

/// The fewest feature frames of an utterance that a model takes. ShapeError if even an hour of
/// samples is too short.
std::int64_t fewest_frames(const LayerSequence& sequence);

/// Frames of each utterance that enter the loss (the first layer that needs targets, else leave
/// the layer sequence), which bound the labels that it can have.
std::vector<std::int64_t> output_frames(const LayerSequence& sequence,
                                        std::span<const std::int64_t> lengths);

}  // namespace penstock::partition
