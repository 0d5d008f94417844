#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace penstock::runtime {

/// Limits of one micro-batch.
struct MicroBatchBounds {
  std::int64_t frames = 0;
  std::int64_t utterances = 0;  // 0: no limit
};

/// Cuts `count` utterances, in their order, into as few groups as the bounds allow. Among those
/// cuts it takes one whose largest group is smallest. An utterance longer than the bound of frames
/// is a group of its own. FramesOf returns the frames of utterance i.
///
/// The cut is found by binary search over the bound of frames, then over the bound of utterances. A
/// trial fills groups greedily, keeps no groups, and takes O(count) time.
template <class FramesOf>
class EvenCut {
 public:
  EvenCut(std::size_t count, FramesOf frames_of) : count_(count), frames_of_(frames_of) {}

  /// Returns the first utterance of every group.
  std::vector<std::size_t> starts(const MicroBatchBounds& bounds) const {
    const std::size_t min = groups(bounds);
    MicroBatchBounds even = bounds;
    even.frames = smallest(bounds.frames, [&](std::int64_t frames) {
      return groups({frames, bounds.utterances}) <= min;
    });
    const std::int64_t max =
        bounds.utterances == 0 ? static_cast<std::int64_t>(count_) : bounds.utterances;
    even.utterances = smallest(max, [&](std::int64_t max) {
      return groups({even.frames, max}) <= min;
    });
    std::vector<std::size_t> starts;
    starts.reserve(min);
    fill(even, [&](std::size_t first) { starts.push_back(first); });
    return starts;
  }

 private:
  /// Forms the fewest consecutive groups within the bounds by filling each as far as possible.
  /// Calls begin(i) for the first utterance of each.
  template <class Begin>
  void fill(const MicroBatchBounds& bounds, Begin begin) const {
    std::int64_t frames = 0, utterances = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const std::int64_t more = frames_of_(i);
      const bool fits = i > 0 && frames + more <= bounds.frames &&
                        (bounds.utterances == 0 || utterances < bounds.utterances);
      if (!fits) {
        begin(i);
        frames = utterances = 0;
      }
      frames += more;
      ++utterances;
    }
  }

  std::size_t groups(const MicroBatchBounds& bounds) const {
    std::size_t groups = 0;
    fill(bounds, [&](std::size_t) { ++groups; });
    return groups;
  }

  /// Returns the smallest value from 1 to `high` that suffices. `high` must suffice, and so must
  /// every value above one that does.
  template <class Suffices>
  static std::int64_t smallest(std::int64_t high, Suffices suffices) {
    std::int64_t low = 1;
    while (low < high) {  // `high` suffices, nothing below `low` does
      const std::int64_t middle = std::midpoint(low, high);
      if (suffices(middle))
        high = middle;
      else
        low = middle + 1;
    }
    return high;
  }

  std::size_t count_;
  FramesOf frames_of_;
};

}  // namespace penstock::runtime
