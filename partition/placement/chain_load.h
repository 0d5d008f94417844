#pragma once

#include <vector>

#include "partition/profile.h"

namespace penstock {

/// What a chain's ranges of layers ask of a stage for one micro-batch, each in constant time from
/// sums over the first layers.
class ChainLoad {
 public:
  /// What crosses a boundary of stages: activation bytes there and their gradient back, or,
  /// where no cluster says how fast links are, the profile's transfer in seconds.
  enum class Crossing { bytes, seconds };

  ChainLoad(const ChainProfile& chain, Crossing crossing);

  int size() const { return static_cast<int>(work_.size()) - 1; }
  /// Seconds of layers [first, last) on a device of speed 1.
  double work(int first, int last) const { return work_[last] - work_[first]; }
  double longest_layer() const { return longest_layer_; }
  /// What crosses in front of `layer`; 0 at both ends of the chain.
  double crossing(int layer) const { return crossing_[layer]; }
  double least_crossing() const { return least_crossing_; }
  double most_crossing() const { return most_crossing_; }
  /// How often a boundary is crossed: there, and back by the gradient.
  int passes() const { return passes_; }
  /// Bytes of the layers' parameters in FP32.
  double parameters(int first, int last) const { return parameters_[last] - parameters_[first]; }

  /// Bytes of a stage with so many micro-batches in flight: parameters, their gradients and two
  /// numbers of the optimizer; what enters the stage and leaves each layer, of every micro-batch
  /// in flight; one gradient at either end.
  double bytes(int first, int last, int in_flight) const {
    return kStates * parameters(first, last) +
           in_flight * (entering_[first] + activations_[last] - activations_[first]) +
           entering_[first] + entering_[last];
  }
  /// No stage that begins at `first` and goes to `last` or on takes less; it grows with `last`.
  double bytes_at_least(int first, int last, int in_flight) const {
    return kStates * parameters(first, last) +
           in_flight * (entering_[first] + activations_[last] - activations_[first]) +
           entering_[first];
  }
  static constexpr int kStates = 4;  // weight, gradient, two of Adam

 private:
  std::vector<double> work_, parameters_, activations_;  // of the first i layers
  std::vector<double> entering_, crossing_;              // in front of layer i
  double longest_layer_ = 0, least_crossing_ = 0, most_crossing_ = 0;
  int passes_ = 1;
};

}  // namespace penstock
