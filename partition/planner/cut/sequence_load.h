#pragma once

#include <vector>

#include "partition/planner/cost/profile.h"

namespace penstock::partition {

/// Work, messages and memory of any range of a sequence's layers as a stage, for one micro-batch.
/// Each is computed in constant time from prefix sums.
class SequenceLoad {
 public:
  /// The unit of what crosses a boundary of stages. `bytes`: an activation, and its gradient back.
  /// `seconds`: the profile's transfer time, for use without a cluster.
  enum class Crossing { bytes, seconds };

  /// `stage` recomputes the forward of whole stages before their backward (Chen et al. 2016). That
  /// takes the time of a forward. Each micro-batch in flight then keeps only its stage's input and
  /// output.
  enum class Recompute { none, stage };

  SequenceLoad(const SequenceProfile& sequence, Crossing crossing,
               Recompute recompute = Recompute::none);

  int size() const { return static_cast<int>(work_.size()) - 1; }
  bool recomputes() const { return recompute_ == Recompute::stage; }
  /// Seconds of layers [first, last) on a device of speed 1, recomputation included.
  double work(int first, int last) const { return work_[last] - work_[first]; }
  /// Returns the number of ranges of layers with at most so much work.
  double ranges_within(double work) const;
  /// Seconds of the longest layer on a device of speed 1.
  double longest_layer() const { return longest_layer_; }
  /// Returns what crosses the boundary in front of `layer`; 0 at both ends of the sequence.
  double crossing(int layer) const { return crossing_[layer]; }
  /// Minimum and maximum of crossing() over inner boundaries.
  double min_crossing() const { return min_crossing_; }
  double max_crossing() const { return max_crossing_; }
  /// Messages per micro-batch at a boundary: 2 for bytes, the activation and its gradient; 1 for
  /// seconds, which cover both.
  int passes() const { return passes_; }
  /// Returns the bytes of the layers' FP32 parameters.
  double parameters(int first, int last) const { return parameters_[last] - parameters_[first]; }

  /// Returns the bytes of a stage with so many micro-batches in flight. They are: parameters, their
  /// gradients and two optimizer moments; the stage's input and each layer's output, for every
  /// micro-batch in flight; and one gradient at either end. With recomputation, every micro-batch
  /// keeps the stage's input and output, and one has the outputs of all layers but the last.
  double bytes(int first, int last, int in_flight) const {
    const double entering = entering_[first], inside = activations_[last] - activations_[first];
    const double states = kStates * parameters(first, last) + entering + entering_[last];
    if (!recomputes()) return states + in_flight * (entering + inside);
    const double leaving = activations_[last] - activations_[last - 1];
    return states + in_flight * (entering + leaving) + recomputed_bytes(first, last);
  }
  /// Returns the recomputed part of bytes(); 0 without recomputation.
  double recomputed_bytes(int first, int last) const {
    return recomputes() ? activations_[last - 1] - activations_[first] : 0;
  }
  /// Returns a lower bound on bytes() of all stages from `first` to `last` or further. It grows
  /// with `last`.
  double bytes_at_least(int first, int last, int in_flight) const {
    const double entering = entering_[first], inside = activations_[last] - activations_[first];
    const double states = kStates * parameters(first, last) + entering;
    return states + in_flight * entering + (recomputes() ? 1 : in_flight) * inside;
  }
  static constexpr int kStates = 4;  // weight, gradient, two moments of Adam

 private:
  std::vector<double> work_, parameters_, activations_;  // [i]: sums over the first i layers
  std::vector<double> entering_, crossing_;              // [i]: in front of layer i
  double longest_layer_ = 0, min_crossing_ = 0, max_crossing_ = 0;
  int passes_ = 1;
  Recompute recompute_ = Recompute::none;
};

}  // namespace penstock::partition
