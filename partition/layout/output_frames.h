#pragma once

#include <cstdint>
#include <map>

#include "partition/layout/layer_sequence.h"

namespace penstock::partition {

/// OutputFrames is a cache of output_frames() for single utterances. A longer utterance never
/// leaves fewer frames, so all lengths between two with the same answer have this answer. Layers
/// are planned only for lengths outside such intervals. Not thread-safe.
class OutputFrames {
 public:
  /// `sequence` must outlive this object.
  explicit OutputFrames(const LayerSequence& sequence) : sequence_(sequence) {}

  /// Returns output_frames() of one utterance, and throws as it does.
  std::int64_t of(std::int64_t frames);

 private:
  /// An interval of lengths with the same answer.
  struct Alike {
    std::int64_t min = 0;  // first length of the interval, in frames
    std::int64_t left = 0;
  };

  const LayerSequence& sequence_;
  std::map<std::int64_t, Alike> known_;  // keyed by the last length of the interval
};

}  // namespace penstock::partition
