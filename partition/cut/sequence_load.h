#pragma once

#include <vector>

#include "partition/cost/profile.h"

namespace penstock::partition {

/// What a layer sequence's ranges of layers ask of a stage for one micro-batch, each in constant
/// time from sums over the first layers.
class SequenceLoad {
 public:
  /// What crosses a boundary of stages: activation bytes there and their gradient back, or,
  /// where no cluster says how fast links are, the profile's transfer in seconds.
  enum class Crossing { bytes, seconds };

  /// Whether the forward of whole stages runs again before their backward: it takes that time, and
  /// of a micro-batch in flight only what enters the stage and leaves it stays (Chen et al. 2016).
  enum class Recompute { none, stage };

  SequenceLoad(const SequenceProfile& sequence, Crossing crossing,
               Recompute recompute = Recompute::none);

  int size() const { return static_cast<int>(work_.size()) - 1; }
  bool recomputes() const { return recompute_ == Recompute::stage; }
  /// Seconds of layers [first, last) on a device of speed 1, recomputation included.
  double work(int first, int last) const { return work_[last] - work_[first]; }
  /// How many ranges of layers do no more than so much work.
  double ranges_within(double work) const;
  double longest_layer() const { return longest_layer_; }
  /// What crosses in front of `layer`; 0 at both ends of the layer sequence.
  double crossing(int layer) const { return crossing_[layer]; }
  double least_crossing() const { return least_crossing_; }
  double most_crossing() const { return most_crossing_; }
  /// How often a boundary is crossed: there, and back by the gradient.
  int passes() const { return passes_; }
  /// Bytes of the layers' parameters in FP32.
  double parameters(int first, int last) const { return parameters_[last] - parameters_[first]; }

  /// Bytes of a stage with so many micro-batches in flight: parameters, their gradients and two
  /// numbers of the optimizer; what enters the stage and leaves each layer, of every micro-batch
  /// in flight; one gradient at either end. With recomputation, of every micro-batch what enters
  /// and leaves the stage, and of one what leaves each layer but the
  /// last.
  double bytes(int first, int last, int in_flight) const {
    const double entering = entering_[first], inside = activations_[last] - activations_[first];
    const double states = kStates * parameters(first, last) + entering + entering_[last];
    if (!recomputes()) return states + in_flight * (entering + inside);
    const double leaving = activations_[last] - activations_[last - 1];
    return states + in_flight * (entering + leaving) + recomputed_bytes(first, last);
  }
  /// Of those, what activation recomputation makes.
  double recomputed_bytes(int first, int last) const {
    return recomputes() ? activations_[last - 1] - activations_[first] : 0;
  }
  /// No stage that begins at `first` and goes to `last` or on takes less; it grows with `last`.
  double bytes_at_least(int first, int last, int in_flight) const {
    const double entering = entering_[first], inside = activations_[last] - activations_[first];
    const double states = kStates * parameters(first, last) + entering;
    return states + in_flight * entering + (recomputes() ? 1 : in_flight) * inside;
  }
  static constexpr int kStates = 4;  // weight, gradient, two of Adam

 private:
  std::vector<double> work_, parameters_, activations_;  // of the first i layers
  std::vector<double> entering_, crossing_;              // in front of layer i
  double longest_layer_ = 0, least_crossing_ = 0, most_crossing_ = 0;
  int passes_ = 1;
  Recompute recompute_ = Recompute::none;
};

}  // namespace penstock::partition
