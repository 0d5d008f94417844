#pragma once

#include <cstdint>
#include <vector>

#include "partition/layout/layer_sequence.h"

namespace penstock::runtime {

/// The layers of one rank's chunks, in the order of the layer sequence. Layers of other ranks may
/// lie between them.
struct LocalLayers {
  std::vector<int> chunks;                   // chunk numbers in the layer sequence
  std::vector<const layers::Layer*> layers;  // layers of all chunks
  std::vector<layers::LayerPlan> plans;      // one per layer, independent of the input's length
  std::vector<std::int64_t> norm_blocks;     // norm blocks of the model before each layer
  std::vector<std::size_t> first_layers;     // index of each chunk's first layer in `layers`
  std::vector<std::size_t> first_sums;       // sums of the layers before each chunk
  std::size_t sums = 0;                      // sums of all layers, per micro-batch
  /// One of these layers reads labels, or one before them, whose output depends on their number; or
  /// one of these has an auxiliary loss.
  bool needs_labels = false;
};

/// Returns the layers of the chunks that `chunk_ranks` assigns to `rank`. `cut` has the first layer
/// of each chunk of the layer sequence, then the number of layers. Error if the cut and
/// `chunk_ranks` have different numbers of chunks, or the cut does not cover the sequence.
LocalLayers local_layers(const partition::LayerSequence& sequence,
                         const layers::BackendSizes& sizes, const std::vector<int>& cut,
                         const std::vector<int>& chunk_ranks, int rank);

}  // namespace penstock::runtime
