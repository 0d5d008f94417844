#pragma once

#include <cstdint>

#include "configs/config.h"
#include "partition/layout/layer_sequence.h"

namespace penstock::runtime {

/// Returns how many frames of features the model joins into one at the loss.
[[nodiscard]] std::int64_t joined_frames(const partition::LayerSequence& sequence);

/// Returns the seconds from one frame at the loss to the next: those of a frame of features, times
/// the frames that the model joins into one.
[[nodiscard]] double frame_shift(const partition::LayerSequence& sequence,
                                 const configs::FeatureConfig& features);

}  // namespace penstock::runtime
