#pragma once

#include "configs/config.h"
#include "partition/layout/layer_sequence.h"

namespace penstock::runtime {

/// Returns the seconds from one frame at the loss to the next: those of a frame of features, times
/// the frames that the model joins into one.
[[nodiscard]] double frame_shift(const partition::LayerSequence& sequence,
                                 const configs::FeatureConfig& features);

}  // namespace penstock::runtime
