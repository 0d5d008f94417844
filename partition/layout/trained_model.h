#pragma once

#include "configs/config.h"
#include "partition/layout/layer_sequence.h"

namespace penstock::partition {

/// Builds the model and applies optimizer.freeze and optimizer.learning_rates to each parameter.
/// Throws ConfigError as build_model() does. It also throws if a pattern matches no parameter
/// (naming near ones), or if an entry of optimizer.learning_rates cannot be read. At least one
/// parameter must be left to train.
[[nodiscard]] LayerSequence build_trained_model(const configs::Config& config, int labels);

/// Builds the model with every parameter frozen, for recognition. No gradient has a sum.
[[nodiscard]] LayerSequence build_frozen_model(const configs::ModelConfig& model, int labels);

}  // namespace penstock::partition
