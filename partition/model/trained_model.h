#pragma once

#include "configs/config.h"
#include "partition/model/layer_sequence.h"

namespace penstock::partition {

/// build_model() with what optimizer.freeze and optimizer.learning_rates say of each parameter.
/// ConfigError as there, and if a pattern matches no parameter (naming near ones), if an entry of
/// optimizer.learning_rates can't be read, or if nothing is left to train.
[[nodiscard]] LayerSequence build_trained_model(const configs::Config& config, int labels);

}  // namespace penstock::partition
