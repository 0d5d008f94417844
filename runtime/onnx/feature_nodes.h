#pragma once

#include "configs/config.h"
#include "runtime/onnx/graph.h"

namespace penstock::runtime {

/// Adds the nodes that compute FeatureExtractor's features (runtime/data/audio/features.h), frames
/// by channels. `samples` are FP32 [n] at the configuration's rate, n ≥ 1. Throws ConfigError like
/// frame_geometry().
[[nodiscard]] ValueName add_features(OnnxGraph& graph, const configs::FeatureConfig& config,
                                     const ValueName& samples);

/// True if louder samples make other features, so that their level matters.
[[nodiscard]] bool level_matters(const configs::FeatureConfig& config);

/// Adds (x - mean) · level / √(variance + ε) of samples [n]: a recording of that root mean square.
[[nodiscard]] ValueName add_level(OnnxGraph& graph, const ValueName& samples, double level,
                                  double epsilon);

}  // namespace penstock::runtime
