#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "partition/layout/layer_sequence.h"

namespace penstock::partition {

// These functions say what each layer declares: its figures for one micro-batch, and its kind.

/// LayerFigures holds the size of a layer and its cost for one micro-batch.
struct LayerFigures {
  std::string name;
  std::int64_t parameters = 0;
  layers::Flops flops;  // for the first layer without the gradient of the features
  /// Bytes from forward to backward, including the input if backward needs it.
  std::size_t kept = 0;
  std::size_t scratch = 0;  // bytes of workspace: the maximum over its methods
};

/// Returns the figures of every layer, for utterances of `lengths` feature frames. Allocates
/// nothing on the device. Throws ShapeError if layers do not fit each other.
[[nodiscard]] std::vector<LayerFigures> layer_figures(const LayerSequence& sequence,
                                                      std::span<const std::int64_t> lengths,
                                                      const layers::BackendSizes& sizes);

/// Returns the sum over all layers; `scratch` is the maximum. The sum has no name.
[[nodiscard]] LayerFigures total_of(const std::vector<LayerFigures>& layers);

/// Returns a text for each layer of everything that determines its costs: inputs, outputs,
/// parameters, operations, and saved tensors. Layers with equal texts are of one kind, for any
/// lengths. The plans compared are those of two utterances of fixed, unequal lengths.
std::vector<std::string> declared_layers(const LayerSequence& sequence,
                                         const layers::BackendSizes& sizes);

/// Returns the kind of each layer, numbered from 0.
std::vector<int> layer_kinds(const LayerSequence& sequence, const layers::BackendSizes& sizes);

}  // namespace penstock::partition
