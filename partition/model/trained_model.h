#pragma once

#include "configs/config.h"
#include "partition/model/layer_sequence.h"

namespace penstock::partition {

/// build_model() with what optimizer.freeze and optimizer.learning_rates say of each parameter.
/// ConfigError as there, and if a pattern matches no parameter (naming near ones), if an entry of
/// optimizer.learning_rates can't be read, or if nothing is left to train.
[[nodiscard]] LayerSequence build_trained_model(const configs::Config& config, int labels);

/// build_model() with every parameter frozen, as recognition has it: no gradient has a sum.
[[nodiscard]] LayerSequence build_frozen_model(const configs::ModelConfig& model, int labels);

}  // namespace penstock::partition
