#pragma once

#include <span>
#include <string>
#include <vector>

#include "configs/config.h"
#include "partition/layout/layer_sequence.h"

namespace penstock::partition {

/// The value of pipeline.recompute with which residual units recompute the outputs of their cheap
/// parts (see build_model()). Whole layers may be recomputed too.
inline constexpr const char* kSelective = "selective";

/// Returns the layers that pipeline.recompute and .recompute_layers choose, whose forward runs a
/// second time before their backward. `names` are the layers of the sequence. Throws ConfigError
/// for names that the sequence lacks, or that are listed twice.
ChosenLayers recomputed_layers(const configs::PipelineConfig& pipeline,
                               std::span<const std::string> names);
ChosenLayers recomputed_layers(const configs::PipelineConfig& pipeline,
                               const LayerSequence& sequence);
[[nodiscard]] std::vector<std::string> names_of(const LayerSequence& sequence);

/// Recomputation says which activations are recomputed instead of saved.
struct Recomputation {
  bool within = false;       // within residual units, cheap parts only: kSelective
  ChosenLayers layers = {};  // whole layers
};

/// Writes a plan's choice to pipeline.recompute and .recompute_layers.
void set_recomputation(configs::PipelineConfig& pipeline, const Recomputation& chosen,
                       std::span<const std::string> names);

}  // namespace penstock::partition
