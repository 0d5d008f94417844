#pragma once

#include <string>

#include "configs/config.h"
#include "partition/model/layer_sequence.h"

namespace penstock::partition {

/// The layer sequence of a model with `labels` labels, blank included. ConfigError lists every key
/// of [model] with an impossible value and what it takes. Residual units remake what their cheap
/// parts wrote, if `pipeline.recompute` is selective.
LayerSequence build_model(const configs::ModelConfig& model, int labels,
                          const configs::PipelineConfig& pipeline = {});

/// Everything that the layer sequence follows from, on one line: "kind=deepspeech2 features=161 …
/// labels=29". Equal for equal sequences.
std::string model_summary(const configs::ModelConfig& model, int labels);

}  // namespace penstock::partition
