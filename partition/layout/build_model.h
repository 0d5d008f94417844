#pragma once

#include <string>

#include "configs/config.h"
#include "partition/layout/layer_sequence.h"

namespace penstock::partition {

/// Builds the layer sequence of a model for a text with `labels` labels, including the blank. It
/// has model.classes outputs, or `labels` outputs if that is 0. Throws ConfigError, which lists
/// every key of [model] with an impossible value and what the key takes; model.classes below
/// `labels` is one. With pipeline.recompute = "selective", residual units recompute the outputs of
/// their cheap parts.
LayerSequence build_model(const configs::ModelConfig& model, int labels,
                          const configs::PipelineConfig& pipeline = {});

/// Returns the number of labels of a model without a text: model.classes, or that of the default
/// alphabet.
[[nodiscard]] int labels_without_text(const configs::ModelConfig& model);

/// Returns everything that determines the layer sequence, on one line: "kind=deepspeech2
/// features=161 … labels=29", where the last number is that of the outputs. Keys of the decoder
/// keep their section. Equal sequences have equal summaries.
std::string model_summary(const configs::ModelConfig& model, int labels);

/// Builds the model and applies optimizer.freeze and optimizer.learning_rates to each parameter.
/// Throws ConfigError as build_model() does. It also throws if a pattern matches no parameter
/// (naming near ones), or if an entry of optimizer.learning_rates cannot be read. At least one
/// parameter must be left to train.
[[nodiscard]] LayerSequence build_trained_model(const configs::Config& config, int labels);

/// Builds the model with every parameter frozen, for recognition. No gradient has a sum.
[[nodiscard]] LayerSequence build_frozen_model(const configs::ModelConfig& model, int labels);

}  // namespace penstock::partition
