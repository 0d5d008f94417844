#include "layers/losses/ctc_prefix_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/error.h"
#include "base/log_add.h"
#include "base/quantities.h"

// The prefix score of Watanabe, Hori, Kim, Hershey and Hayashi (2017), "Hybrid CTC/Attention
// Architecture for End-to-End Speech Recognition", Algorithm 2, as in ESPnet's CTCPrefixScore. With
// x_t(c) the probability of class c at frame t, and 0 the blank, a text g has after frame t
//
//   n_t(g)  the probability of the paths that have written just g and end with its last label
//   b_t(g)  of those that have written just g and end with a blank
//
// For h = g·c, a path writes c first at frame t with probability f_t-1 · x_t(c), where
//
//   f_t = b_t(g)            if c is the last label of g, since a repeat writes nothing
//   f_t = b_t(g) + n_t(g)   otherwise; f before the first frame is 1 for the empty g, else 0
//
//   n_t(h) = (n_t-1(h) + f_t-1) · x_t(c)
//   b_t(h) = (b_t-1(h) + n_t-1(h)) · x_t(0)
//   P(texts that begin with h) = sum over t of f_t-1 · x_t(c)
//   P(the text is g) = n_T(g) + b_T(g)
//
// Invariant: P(g) as a beginning is P(the text is g) plus the sum of P(g·c) over all labels c. All
// sums are of logarithms in FP64. A label costs T steps of three additions, and 16 bytes a frame.

namespace penstock::layers {
namespace {

constexpr std::int32_t kBlank = 0;
constexpr double kImpossible = -std::numeric_limits<double>::infinity();

/// Returns the logarithm of the sum of exponentials.
double normaliser(std::span<const float> logits) {
  const double high = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - high);
  return high + std::log(sum);
}

}  // namespace

CtcPrefixScore::CtcPrefixScore(std::vector<float> logits_TV, std::int64_t classes)
    : logits_TV_(std::move(logits_TV)), classes_(classes) {
  if (classes < 1 || logits_TV_.empty() || std::ssize(logits_TV_) % classes != 0)
    throw ShapeError(fmt::format("{} of CTC are not 1 frame or more of {}",
                                 counted(logits_TV_.size(), "logit"),
                                 counted(classes, "class", "classes")));
  const auto width = static_cast<std::size_t>(classes);
  for (std::size_t at = 0; at < logits_TV_.size(); at += width)
    normalisers_T_.push_back(normaliser(std::span(logits_TV_).subspan(at, width)));
}

double CtcPrefixScore::log_probability(std::int64_t frame, std::int32_t label) const {
  return logits_TV_[static_cast<std::size_t>(frame * classes_ + label)] -
         normalisers_T_[static_cast<std::size_t>(frame)];
}

CtcPrefixScore::Prefix CtcPrefixScore::empty() const {
  Prefix prefix;
  prefix.label_T.assign(static_cast<std::size_t>(frames()), kImpossible);
  double blanks = 0;
  for (std::int64_t t = 0; t < frames(); ++t)
    prefix.blank_T.push_back(blanks += log_probability(t, kBlank));
  return prefix;
}

// No path has written all of its labels before frame `labels`.
CtcPrefixScore::Prefix CtcPrefixScore::extended(const Prefix& prefix, std::int32_t label) const {
  const auto T = static_cast<std::size_t>(frames());
  Prefix next{.last = label, .labels = prefix.labels + 1, .log_probability = kImpossible};
  next.label_T.assign(T, kImpossible);
  next.blank_T.assign(T, kImpossible);
  if (label <= kBlank || label >= classes_) return next;
  double with_label = kImpossible, with_blank = kImpossible;
  for (auto t = static_cast<std::size_t>(prefix.labels); t < T; ++t) {
    double before = prefix.labels == 0 ? 0 : kImpossible;  // f_t-1
    if (t > 0) before = prefix.blank_T[t - 1];
    if (t > 0 && label != prefix.last) before = log_add(before, prefix.label_T[t - 1]);
    const double emitted = log_probability(static_cast<std::int64_t>(t), label),
                 blank = log_probability(static_cast<std::int64_t>(t), kBlank);
    next.log_probability = log_add(next.log_probability, before + emitted);
    const double of_blank = log_add(with_blank, with_label) + blank;
    with_label = log_add(with_label, before) + emitted;
    with_blank = of_blank;
    next.label_T[t] = with_label;
    next.blank_T[t] = with_blank;
  }
  return next;
}

double CtcPrefixScore::whole(const Prefix& prefix) const {
  return log_add(prefix.label_T.back(), prefix.blank_T.back());
}

}  // namespace penstock::layers
