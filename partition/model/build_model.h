#pragma once

#include <string>

#include "configs/config.h"
#include "partition/model/layer_sequence.h"

namespace penstock::partition {

/// The layer sequence of a model for a text with `labels` labels, blank included: it has so many
/// outputs, or model.classes. ConfigError lists every key of [model] with an impossible value and
/// what it takes, model.classes below `labels` among them. Residual units remake what their cheap
/// parts wrote, if `pipeline.recompute` is selective.
LayerSequence build_model(const configs::ModelConfig& model, int labels,
                          const configs::PipelineConfig& pipeline = {});

/// Labels of a model where no text says how many: model.classes, or those of the default alphabet.
[[nodiscard]] int labels_without_text(const configs::ModelConfig& model);

/// Everything that the layer sequence follows from, on one line: "kind=deepspeech2 features=161 …
/// labels=29", of which the last are the outputs. Equal for equal sequences.
std::string model_summary(const configs::ModelConfig& model, int labels);

}  // namespace penstock::partition
