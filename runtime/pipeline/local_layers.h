#pragma once

#include <cstdint>
#include <vector>

#include "partition/model/layer_sequence.h"

namespace penstock::runtime {

/// The layers of one rank's chunks, in the order of the layer sequence; others may lie between.
struct LocalLayers {
  std::vector<int> chunks;                   // their numbers
  std::vector<const layers::Layer*> layers;  // of all of them
  std::vector<layers::LayerPlan> plans;      // of each layer, for any input
  std::vector<std::int64_t> norm_blocks;     // of the model before each layer
  std::vector<std::size_t> first_layers;     // of each chunk, among `layers`
  std::vector<std::size_t> first_sums;       // numbers that the layers before each chunk leave
  std::size_t sums = 0;                      // that all of them leave, for one micro-batch
};

/// Of the chunks that `rank` has of `chunk_ranks`. `cut` has the first layer of each chunk of the
/// layer sequence, then the number of layers; Error unless there are as many chunks.
LocalLayers local_layers(const partition::LayerSequence& sequence,
                         const layers::BackendSizes& sizes, const std::vector<int>& cut,
                         const std::vector<int>& chunk_ranks, int rank);

}  // namespace penstock::runtime
