#include "partition/layout/output_frames.h"

#include <iterator>
#include <vector>

namespace penstock::partition {

std::int64_t OutputFrames::of(std::int64_t frames) {
  const auto upper = known_.lower_bound(frames);
  if (upper != known_.end() && upper->second.min <= frames) return upper->second.left;
  const std::int64_t left = output_frames(sequence_, std::vector<std::int64_t>{frames}).front();
  if (upper != known_.end() && upper->second.left == left) {
    upper->second.min = frames;
    return left;
  }
  Alike alike{frames, left};
  if (upper != known_.begin() && std::prev(upper)->second.left == left) {
    alike.min = std::prev(upper)->second.min;
    known_.erase(std::prev(upper));
  }
  known_.emplace(frames, alike);
  return left;
}

}  // namespace penstock::partition
