#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "layers/layer.h"

namespace penstock::partition {

/// A model: its layers in order, and the channels of the frames that enter the first layer.
struct LayerSequence {
  std::vector<std::unique_ptr<layers::Layer>> layers;
  int features = 0;

  int size() const { return static_cast<int>(layers.size()); }
};

/// Returns the declaration of the input for utterances of `lengths` feature frames: one matrix of
/// `features` channels in the compute type.
layers::ActivationDecl sequence_input(const LayerSequence& sequence,
                                      std::span<const std::int64_t> lengths,
                                      const layers::BackendSizes& sizes);

/// Returns every layer's plan for a micro-batch of utterances of `lengths` feature frames. Throws
/// ShapeError if layers do not fit each other.
std::vector<layers::LayerPlan> plan_layers(const LayerSequence& sequence,
                                           std::span<const std::int64_t> lengths,
                                           const layers::BackendSizes& sizes);

/// Returns every layer's plan for zero utterances. Its parameters, state and sums depend on the
/// layers alone.
std::vector<layers::LayerPlan> plan_without_frames(const LayerSequence& sequence,
                                                   const layers::BackendSizes& sizes);

/// Returns the minimum number of feature frames of an utterance that the model accepts. Throws
/// ShapeError if even 2^26 frames, more than an hour of audio samples, are too few.
std::int64_t min_frames(const LayerSequence& sequence);

/// Returns the frames of each utterance that enter the loss (the first layer that needs targets)
/// or, without a loss, that leave the last layer. They bound the number of labels of the utterance.
std::vector<std::int64_t> output_frames(const LayerSequence& sequence,
                                        std::span<const std::int64_t> lengths);

}  // namespace penstock::partition
