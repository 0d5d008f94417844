#include "layers/cpu/ctc_lattice.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <utility>

// The recursions of CTC (Graves et al. 2006) in the logarithmic domain, with the max of each frame
// subtracted. So the numbers of the states on likely paths stay near zero however long the
// utterance is, and single precision is enough for them. The subtracted maxima matter to the loss
// alone and are summed in FP64. Shares are divided by their sum, in which any constant of a frame
// cancels, so backward does not even keep its maxima.
//
// α is kept for all frames, since backward needs it. β is kept for one frame only: the share of a
// frame is taken as soon as its β is known.

namespace penstock::layers {
namespace {

// Stands for log 0. It is finite, so that the difference of two is not NaN.
constexpr double kLogZero = -1e30;

// States that the recursion looks back or ahead. Log 0 stands in so many places on either side of a
// band.
constexpr std::int64_t kReach = 2;

// Exponentials and logarithms are computed on whole aligned vectors, and so a little beyond the
// ends of a band. A margin is allocated there, and its results are never read.
constexpr std::int64_t kVector = 8, kMargin = 16;
std::int64_t vector_begin(std::int64_t begin) { return begin / kVector * kVector; }
std::int64_t vector_end(std::int64_t end) { return vector_begin(end + kVector - 1); }

template <class T>
auto row(T* data, std::int64_t count) {
  return Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>(data, count);
}

// Sets to[s] = log(exp(near[s]) + exp(next[s]) + exp(far[s] + skip[s])), with the max taken out.
template <class T>
void log_sum(std::int64_t count, T* near, T* next, T* far, T* skip, T* to) {
  const auto a = row(near, count), b = row(next, count), c = row(far, count), d = row(skip, count);
  const auto far_or_none = c + d;
  const auto smaller = a.min(b);  // their types differ: not one declaration
  const auto larger = a.max(b);
  const auto max = larger.max(far_or_none);
  const auto middle = smaller.max(larger.min(far_or_none));
  const auto min = smaller.min(far_or_none);
  row(to, count) = max + (T{1} + (middle - max).exp() + (min - max).exp()).log();
}

// Subtracts the max from all numbers, and returns it.
template <class T>
double bring_near_zero(T* data, std::int64_t count) {
  const T largest = row(data, count).maxCoeff();
  row(data, count) -= largest;
  return largest;
}

// Writes log 0 on either side of a band.
template <class T>
void close_margins(T* data, std::int64_t begin, std::int64_t end) {
  std::fill_n(data + begin - kReach, kReach, static_cast<T>(kLogZero));
  std::fill_n(data + end, kReach, static_cast<T>(kLogZero));
}

}  // namespace

template <class T>
CtcLattice<T>::CtcLattice(Scratch& scratch, std::int64_t max_frames) {
  // There are no more labels than frames. The bands of L labels over N frames have 2 L (N - L) + N
  // numbers together, which is at most N² / 2 + N.
  const std::int64_t states = 2 * max_frames + 1, padded = states + 2 * kMargin;
  class_ = scratch.take<std::int32_t>(states);
  for (T** data : {&skip_, &from_, &to_}) {
    *data = scratch.take<T>(padded);
    if (*data != nullptr) *data += kMargin;
  }
  emitted_ = scratch.take<T>(padded);
  share_ = scratch.take<T>(padded);
  kept_ = scratch.take<T>(max_frames * max_frames / 2 + max_frames);
}

template <class T>
void CtcLattice<T>::set(std::span<const std::int32_t> labels, std::int64_t frames) {
  frames_ = frames;
  states_ = 2 * static_cast<std::int64_t>(labels.size()) + 1;
  offset_ = 0;
  kept_end_ = kept_;
  std::fill_n(class_, states_, 0);
  std::fill_n(skip_, states_ + kReach, static_cast<T>(kLogZero));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    class_[2 * i + 1] = labels[i];
    if (i > 0 && labels[i] != labels[i - 1]) skip_[2 * i + 1] = 0;
  }
}

template <class T>
typename CtcLattice<T>::Band CtcLattice<T>::band(std::int64_t t) const {
  return {std::max<std::int64_t>(0, states_ - 2 * (frames_ - t)), std::min(states_, 2 * t + 2)};
}

template <class T>
void CtcLattice<T>::gather(Band band, const T* log_probabilities) {
  for (std::int64_t s = band.begin; s < band.end; ++s) emitted_[s] = log_probabilities[class_[s]];
}

// Computes frame t of the forward recursion, up to a constant for each frame. p_t(s) is the
// log-probability of state s's class at frame t:
//   α_0(s) = p_0(s) for s < 2
//   α_t(s) = p_t(s) + log(exp α_{t-1}(s) + exp α_{t-1}(s-1) + exp(α_{t-1}(s-2) + skip(s)))
// from_ holds frame t - 1, to_ becomes frame t, and offset_ is the sum of those constants.
template <class T>
void CtcLattice<T>::advance(std::int64_t t, const T* log_probabilities) {
  const auto [begin, end] = band(t);
  const std::int64_t count = end - begin;
  gather({begin, end}, log_probabilities);
  std::swap(from_, to_);
  T* to = to_ + begin;
  if (t == 0) {
    row(to, count).setZero();
  } else {
    const std::int64_t s = vector_begin(begin);
    T* from = from_ + s;
    log_sum(vector_end(end) - s, from, from - 1, from - 2, skip_ + s, to_ + s);
  }
  row(to, count) += row(emitted_ + begin, count);
  offset_ += bring_near_zero(to, count);
  close_margins(to_, begin, end);
  kept_end_ = std::copy_n(to, count, kept_end_);
}

template <class T>
double CtcLattice<T>::loss() const {
  if (frames_ == 0) return 0;
  const double blank = to_[states_ - 1], label = to_[states_ - 2];  // log 0 if there are no labels
  const double top = std::max(blank, label);
  return -(offset_ + top + std::log(std::exp(blank - top) + std::exp(label - top)));
}

// Computes frame t of the backward recursion, over the frames after t, up to a constant for each
// frame:
//   β_{frames-1}(s) = 0
//   β_t(s) = log(exp γ(s) + exp γ(s+1) + exp(γ(s+2) + skip(s+2))), γ(s) = β_{t+1}(s) + p_{t+1}(s)
//   share of s = exp(α_t(s) + β_t(s)) / sum of that over all states
// The bands of α follow each other in kept_, and kept_end_ is the end of frame t's.
template <class T>
void CtcLattice<T>::retreat(std::int64_t t, const T* log_probabilities, T* occupancy) {
  const auto [begin, end] = band(t);
  const std::int64_t count = end - begin;
  std::swap(from_, to_);
  T* to = to_ + begin;
  if (t == frames_ - 1) {
    row(to, count).setZero();
  } else {  // from_ holds γ
    const std::int64_t s = vector_begin(begin);
    T* from = from_ + s;
    log_sum(vector_end(end) - s, from, from + 1, from + 2, skip_ + s + 2, to_ + s);
    bring_near_zero(to, count);
  }

  kept_end_ -= count;
  auto share = row(share_ + begin, count);
  share = row(kept_end_, count) + row(to, count);
  auto whole = row(share_ + vector_begin(begin), vector_end(end) - vector_begin(begin));
  whole = (whole - share.maxCoeff()).exp();
  share /= share.sum();
  for (std::int64_t s = 0; s < count; ++s) occupancy[class_[begin + s]] += share[s];

  gather({begin, end}, log_probabilities);
  row(to, count) += row(emitted_ + begin, count);
  close_margins(to_, begin, end);
}

template class CtcLattice<float>;
template class CtcLattice<double>;

}  // namespace penstock::layers
