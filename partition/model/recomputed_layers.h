#pragma once

#include <span>
#include <string>
#include <vector>

#include "configs/config.h"
#include "partition/model/layer_runs.h"
#include "partition/model/layer_sequence.h"

namespace penstock::partition {

/// The value of pipeline.recompute with which residual units remake what their cheap parts wrote
/// (build_model), whether whole layers are recomputed besides or not.
inline constexpr const char* kSelective = "selective";

/// The layers of a layer sequence, known by their names, whose forward runs a second time before
/// their backward: what pipeline.recompute and .recompute_layers choose. ConfigError lists names
/// that the layer sequence has not, or that stand twice.
ChosenLayers recomputed_layers(const configs::PipelineConfig& pipeline,
                               std::span<const std::string> names);
ChosenLayers recomputed_layers(const configs::PipelineConfig& pipeline,
                               const LayerSequence& sequence);
[[nodiscard]] std::vector<std::string> names_of(const LayerSequence& sequence);

/// What is recomputed of activations.
struct Recomputation {
  bool within = false;       // residual units remake what their cheap parts wrote: kSelective
  ChosenLayers layers = {};  // whole ones
};

/// The choice of a plan as pipeline.recompute and .recompute_layers.
void set_recomputation(configs::PipelineConfig& pipeline, const Recomputation& chosen,
                       std::span<const std::string> names);

}  // namespace penstock::partition
