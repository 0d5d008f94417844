#pragma once

#include <cstdint>

#include "layers/cuda/training/ctc_sizes.h"

namespace penstock::layers::cuda {

/// Stands for log 0. It is finite, so that the difference of two is not NaN.
inline constexpr float kLogZero = -1e30f;

/// The lattice of one utterance: paths through its frames and CTC's states (blank, label, blank, …,
/// blank). Mirrored in time and states, it describes paths from the end, and the same recursion
/// holds. At frame t only a band of states is kept: those that a path can have reached, and from
/// which it can still reach the other end. layers/cpu's CtcLattice has the same bands.
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
  /// Returns the offset at which state 0 of frame t would lie, counted from frame 0's band. The
  /// bands of earlier frames τ lie before it, with end(τ) - begin(τ) numbers each.
  __device__ std::int64_t band(std::int64_t t) const {
    const std::int64_t labels = states / 2, late = t - (frames - labels);
    const std::int64_t ends =
        t <= labels ? t * (t + 1) : labels * (labels + 1) + (t - labels) * states;
    return ends - (late > 0 ? late * late : 0) - begin(t);
  }

  /// Returns frame t's sum of a state, or kLogZero if the state lies outside of the band. `sums`
  /// points to where state 0 would lie.
  __device__ float sum(const float* sums, std::int64_t t, std::int64_t state) const {
    return state >= begin(t) && state < end(t) ? sums[state] : kLogZero;
  }

  /// Returns the utterance's frame that is the lattice's frame t.
  __device__ std::int64_t frame(std::int64_t t) const { return mirrored_ ? frames - 1 - t : t; }
  __device__ std::int32_t class_of(std::int64_t state) const {
    if (state % 2 == 0) return 0;
    const std::int64_t label = state / 2;
    return labels_[mirrored_ ? states / 2 - 1 - label : label];
  }
  /// Returns true if a path may reach `state` from the last but one, and so skip a blank.
  __device__ bool may_skip_to(std::int64_t state) const {
    return state % 2 == 1 && state >= 3 && class_of(state) != class_of(state - 2);
  }

  std::int64_t frames, states;

 private:
  const std::int32_t* labels_;
  bool mirrored_;
};

}  // namespace penstock::layers::cuda
