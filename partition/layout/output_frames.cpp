#include "partition/layout/output_frames.h"

#include <iterator>
#include <vector>

namespace penstock::partition {

std::int64_t OutputFrames::of(std::int64_t frames) {
  const auto behind = known_.lower_bound(frames);
  if (behind != known_.end() && behind->second.min <= frames) return behind->second.left;
  const std::int64_t left = output_frames(sequence_, std::vector<std::int64_t>{frames}).front();
  if (behind != known_.end() && behind->second.left == left) {
    behind->second.min = frames;
    return left;
  }
  Alike alike{frames, left};
  if (behind != known_.begin() && std::prev(behind)->second.left == left) {
    alike.min = std::prev(behind)->second.min;
    known_.erase(std::prev(behind));
  }
  known_.emplace(frames, alike);
  return left;
}

}  // namespace penstock::partition
