#include "runtime/recognise/frame_shift.h"

#include <cstdint>

// Strided layers leave another frame after every so many frames of features. That number is the
// distance between two lengths at which another frame comes. It is asked of the layers themselves,
// so it holds for every family of models.

namespace penstock::runtime {

double frame_shift(const partition::LayerSequence& sequence,
                   const configs::FeatureConfig& features) {
  partition::OutputFrames output(sequence);
  std::int64_t length = partition::min_frames(sequence);
  const auto next_change = [&] {
    for (const std::int64_t left = output.of(length); output.of(length) == left;) ++length;
    return length;
  };
  const std::int64_t first = next_change();
  return static_cast<double>(next_change() - first) / features.frames_per_second();
}

}  // namespace penstock::runtime
