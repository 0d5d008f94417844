#pragma once

#include <cstdint>

#include "layers/cuda/sizes/ctc.h"

namespace penstock::layers::cuda {

/// Stands for log 0: finite, so that differences of two are not NaN.
inline constexpr float kLogZero = -1e30f;

/// One utterance's paths through time and CTC's states (blank, label, blank, …, blank), as they
/// begin or, mirrored in time and states, as they end: the recursion is the same both ways. Of
/// frame t only a band of states is kept: those that can have been reached, and can still reach the
/// other end. Layers/cpu's CtcLattice has the same bands.
struct CtcLattice {
  __device__ CtcLattice(const CtcUtterance& utterance, const std::int32_t* all_labels,
                        bool mirrored)
      : frames(utterance.frames),
        states(2 * utterance.labels + 1),
        labels_(all_labels + utterance.first_label),
        mirrored_(mirrored) {}

  __device__ std::int64_t begin(std::int64_t t) const {
    const std::int64_t first = states - 2 * (frames - t);
    return first > 0 ? first : 0;
  }
  __device__ std::int64_t end(std::int64_t t) const {
    const std::int64_t reached = 2 * t + 2;
    return reached < states ? reached : states;
  }
  /// Where frame t's band would have state 0, counted from frame 0's band: bands of
  /// end(τ) - begin(τ) numbers lie before it.
  __device__ std::int64_t band(std::int64_t t) const {
    const std::int64_t labels = states / 2, late = t - (frames - labels);
    const std::int64_t ends =
        t <= labels ? t * (t + 1) : labels * (labels + 1) + (t - labels) * states;
    return ends - (late > 0 ? late * late : 0) - begin(t);
  }

  /// Frame t's sum of a state, which may lie outside its band. `sums`: where that has state 0.
  __device__ float sum(const float* sums, std::int64_t t, std::int64_t state) const {
    return state >= begin(t) && state < end(t) ? sums[state] : kLogZero;
  }

  /// Of the utterance, which frame is the lattice's frame t.
  __device__ std::int64_t frame(std::int64_t t) const { return mirrored_ ? frames - 1 - t : t; }
  __device__ std::int32_t class_of(std::int64_t state) const {
    if (state % 2 == 0) return 0;
    const std::int64_t label = state / 2;
    return labels_[mirrored_ ? states / 2 - 1 - label : label];
  }
  /// Whether a path may come to `state` from the last but one, leaving a blank out.
  __device__ bool may_skip_to(std::int64_t state) const {
    return state % 2 == 1 && state >= 3 && class_of(state) != class_of(state - 2);
  }

  std::int64_t frames, states;

 private:
  const std::int32_t* labels_;
  bool mirrored_;
};

}  // namespace penstock::layers::cuda
