#include "runtime/pipeline/local_layers.h"

#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "base/quantities.h"
#include "partition/layout/stage_bytes.h"

namespace penstock::runtime {
namespace {

void check_cut(const std::vector<int>& cut, std::size_t chunks, int layers) {
  if (cut.size() != chunks + 1 || cut.front() != 0 || cut.back() != layers)
    throw Error(fmt::format(
        "the schedule has {} and the model {}, which the cut into {} does not cover",
        counted(chunks, "chunk"), counted(layers, "layer"), cut.empty() ? 0 : cut.size() - 1));
}

}  // namespace

// Every rank plans the whole model, since the number of norm blocks before a layer counts those of
// other ranks. Without frames this is cheap.
LocalLayers local_layers(const partition::LayerSequence& sequence,
                         const layers::BackendSizes& sizes, const std::vector<int>& cut,
                         const std::vector<int>& chunk_ranks, int rank) {
  check_cut(cut, chunk_ranks.size(), sequence.size());
  const std::vector<layers::LayerPlan> plans = partition::plan_without_frames(sequence, sizes);
  const std::vector<std::int64_t> blocks = partition::norm_blocks_before(plans);
  const int first_reader = partition::first_label_reader(plans);
  LocalLayers held;
  for (int chunk = 0; chunk < static_cast<int>(chunk_ranks.size()); ++chunk) {
    if (chunk_ranks[chunk] != rank) continue;
    held.chunks.push_back(chunk);
    held.first_layers.push_back(held.layers.size());
    held.first_sums.push_back(held.sums);
    for (int layer = cut[chunk]; layer < cut[chunk + 1]; ++layer) {
      held.layers.push_back(sequence.layers[layer].get());
      held.plans.push_back(plans[layer]);
      held.norm_blocks.push_back(blocks[layer]);
      held.sums += plans[layer].sums;
      held.needs_labels |= layer >= first_reader || plans[layer].auxiliary_loss;
    }
  }
  return held;
}

}  // namespace penstock::runtime
