#pragma once

#include <cstdint>
#include <span>

#include "layers/scratch.h"

namespace penstock::layers {

/// The paths of one utterance through time and CTC's states: blank, label, blank, label, …, blank.
/// A path that has read t frames has reached only states s < 2t + 2. It can still reach the end
/// only from states s >= states - 2 (frames - t). Other states are neither computed nor kept. f32
/// or f64.
template <class T>
class CtcLattice {
 public:
  /// Takes its memory from `scratch`. No utterance that is set may have more than `max_frames`.
  CtcLattice(Scratch& scratch, std::int64_t max_frames);

  /// Starts an utterance. Its frames must be enough for its labels.
  void set(std::span<const std::int32_t> labels, std::int64_t frames);

  /// Takes the log-probabilities of the classes at frame t = 0, 1, …, and keeps the sums over all
  /// paths that lead there.
  void advance(std::int64_t t, const T* log_probabilities);
  /// Returns -log of the probability of the labels, after the last frame.
  double loss() const;

  /// Adds to occupancy[class] the share of the labels' probability that passes through that class
  /// at frame t. Must be called for t = frames - 1, … 0.
  void retreat(std::int64_t t, const T* log_probabilities, T* occupancy);

 private:
  struct Band {
    std::int64_t begin, end;
  };
  Band band(std::int64_t t) const;
  void gather(Band band, const T* log_probabilities);

  std::int64_t frames_ = 0, states_ = 0;
  std::int32_t* class_ = nullptr;      // the class of each state
  T* skip_ = nullptr;                  // log 1 if a state may follow the last but one, else log 0
  T *from_ = nullptr, *to_ = nullptr;  // sums at the last frame and at this one
  T *emitted_ = nullptr, *share_ = nullptr;
  T *kept_ = nullptr, *kept_end_ = nullptr;  // the bands of advance(), frame by frame
  double offset_ = 0;                        // sum of the maxima subtracted so far
};

}  // namespace penstock::layers
