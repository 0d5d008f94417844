#pragma once

#include <cstdint>
#include <map>

#include "partition/model/layer_sequence.h"

namespace penstock::partition {

/// output_frames() of many utterances, one by one: layers are planned only where the answer does
/// not follow from others, since a longer utterance never leaves fewer frames. For one thread.
class OutputFrames {
 public:
  /// `sequence` must outlive this.
  explicit OutputFrames(const LayerSequence& sequence) : sequence_(sequence) {}

  /// As output_frames() of one utterance, with its errors.
  std::int64_t of(std::int64_t frames);

 private:
  /// Lengths of the same answer.
  struct Alike {
    std::int64_t least = 0;  // frames
    std::int64_t left = 0;
  };

  const LayerSequence& sequence_;
  std::map<std::int64_t, Alike> known_;  // by the most frames
};

}  // namespace penstock::partition
