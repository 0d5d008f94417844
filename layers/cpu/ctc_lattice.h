#pragma once

#include <cstdint>
#include <span>

#include "layers/scratch.h"

namespace penstock::layers {

/// The paths of one utterance through time and CTC's states: blank, label, blank, label, …, blank.
/// State s has been reached by frame t only where s < 2t + 2, and can still reach the end only
/// where s >= states - 2 (frames - t); nothing else is computed or kept. f32 or f64.
template <class T>
class CtcLattice {
 public:
  /// Takes its memory from `scratch`; `most_frames` of any utterance that will be set.
  CtcLattice(Scratch& scratch, std::int64_t most_frames);

  /// Next come an utterance's frames; they must be enough for its labels.
  void set(std::span<const std::int32_t> labels, std::int64_t frames);

  /// Takes the log-probabilities of the classes at frame t = 0, 1, … and keeps the sums over all
  /// paths that lead there.
  void advance(std::int64_t t, const T* log_probabilities);
  /// -log of the probability of the labels, after the last frame.
  double loss() const;

  /// For frame t = frames - 1, … 0: occupancy[class] += the share of the labels' probability that
  /// passes through that class at frame t.
  void retreat(std::int64_t t, const T* log_probabilities, T* occupancy);

 private:
  struct Band {
    std::int64_t begin, end;
  };
  Band band(std::int64_t t) const;
  void gather(Band band, const T* log_probabilities);

  std::int64_t frames_ = 0, states_ = 0;
  std::int32_t* class_ = nullptr;  // of each state
  T* skip_ = nullptr;              // log of 1 where a state may follow the last but one, else of 0
  T *from_ = nullptr, *to_ = nullptr;  // sums at the last frame and at this one
  T *emitted_ = nullptr, *share_ = nullptr;
  T *kept_ = nullptr, *kept_end_ = nullptr;  // the bands of all frames of advance(), one by one
  double offset_ = 0;                        // what was taken off the sums so far
};

}  // namespace penstock::layers
