#include "runtime/recognise/frame_shift.h"

// Strided layers leave another frame after every so many frames of features. That number is the
// distance between two lengths at which another frame comes. It is asked of the layers themselves,
// so it holds for every family of models.

namespace penstock::runtime {

std::int64_t joined_frames(const partition::LayerSequence& sequence) {
  partition::OutputFrames output(sequence);
  std::int64_t length = partition::min_frames(sequence);
  const auto next_change = [&] {
    for (const std::int64_t left = output.of(length); output.of(length) == left;) ++length;
    return length;
  };
  const std::int64_t first = next_change();
  return next_change() - first;
}

double frame_shift(const partition::LayerSequence& sequence,
                   const configs::FeatureConfig& features) {
  return static_cast<double>(joined_frames(sequence)) / features.frames_per_second();
}

}  // namespace penstock::runtime
