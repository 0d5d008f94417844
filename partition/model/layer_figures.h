#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "partition/model/layer_sequence.h"

namespace penstock::partition {

/// What a layer takes for one micro-batch.
struct LayerFigures {
  std::string name;
  std::int64_t parameters = 0;
  layers::Flops flops;   // of the first layer without the gradient of the features
  std::size_t kept = 0;  // bytes from forward to backward, its input included if backward needs it
  std::size_t scratch = 0;  // bytes while it computes, the most of its methods
};

/// Of every layer, for utterances of `lengths` feature frames. Nothing is allocated. ShapeError
/// where layers do not fit each other.
[[nodiscard]] std::vector<LayerFigures> layer_figures(const LayerSequence& sequence,
                                                      std::span<const std::int64_t> lengths,
                                                      const layers::BackendSizes& sizes);

/// Of all layers together; `scratch` is the most of one. Without a name.
[[nodiscard]] LayerFigures total_of(const std::vector<LayerFigures>& layers);

}  // namespace penstock::partition
