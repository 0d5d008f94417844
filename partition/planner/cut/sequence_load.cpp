#include "partition/planner/cut/sequence_load.h"

#include <algorithm>

namespace penstock::partition {

// Prefix sums start with 0, so that sum[last] - sum[first] is a range. Recomputation repeats the
// forward of every layer.
SequenceLoad::SequenceLoad(const SequenceProfile& sequence, Crossing crossing, Recompute recompute)
    : work_{0},
      parameters_{0},
      activations_{0},
      entering_{0},
      crossing_{0},
      passes_(crossing == Crossing::bytes ? 2 : 1),
      recompute_(recompute) {
  const int forwards = recomputes() ? 2 : 1;
  for (const LayerProfile& layer : sequence.layers) {
    const double seconds = (forwards * layer.forward_ms + layer.backward_ms) / 1e3;
    longest_layer_ = std::max(longest_layer_, seconds);
    work_.push_back(work_.back() + seconds);
    parameters_.push_back(parameters_.back() + layer.parameter_bytes);
    activations_.push_back(activations_.back() + layer.activation_bytes);
    entering_.push_back(layer.activation_bytes);
    crossing_.push_back(crossing == Crossing::bytes ? layer.activation_bytes
                                                    : layer.transfer_ms / 1e3);
  }
  entering_.back() = crossing_.back() = 0;  // the last layer's output goes nowhere
  if (size() < 2) return;
  const auto [min, max] = std::minmax_element(crossing_.begin() + 1, crossing_.end() - 1);
  min_crossing_ = *min;
  max_crossing_ = *max;
}

double SequenceLoad::ranges_within(double work) const {
  double count = 0;
  // `last` is the end of the longest range from `first` on. It never falls as `first` rises.
  for (int first = 0, last = 0; first < size(); ++first) {
    last = std::max(last, first);
    while (last < size() && this->work(first, last + 1) <= work) ++last;
    count += last - first;
  }
  return count;
}

}  // namespace penstock::partition
