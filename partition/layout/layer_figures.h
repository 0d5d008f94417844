#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "partition/layout/layer_sequence.h"

namespace penstock::partition {

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

}  // namespace penstock::partition
