#include "layers/losses/text_beam.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"

// The search is that of transformers' generate() with num_beams = N, early_stopping = False and one
// eos. A hypothesis is the beginning of a text, with the score
//
//   s = (1 - w) · sum of the labels' log-probabilities + w · log-probability of CTC
//
// where CTC's is that of all texts with this beginning, and of the text alone once it has ended
// (ctc_prefix_score.h). In a round each hypothesis is continued by its likeliest classes: the 2 N
// likeliest if w = 0, among which are the 2 N best of all. With CTC they are the 1.5 N that ESPnet
// scores, since each costs a pass over the frames. Of all continuations, the 2 N best are
// candidates:
//
//   ended     those with eos, or with as many labels as a text may have, that are among the N best.
//             Their score becomes s / length^p, where eos counts as a label. The N best are kept.
//   going on  the N best of the others
//
// The search ends when none goes on, or when N texts have ended and none of them has a lower score
// than the best hypothesis would have if it ended now. With p <= 0 none can overtake then; with
// p > 0 longer ones might, and transformers' early_stopping = "never" is not offered.
//
// Equals are ordered by the order of their hypotheses, and then by class. With N = 1 the likeliest
// class is chosen each time, and the text ends with the first eos: greedy decoding.
//
// A round costs V exponentials and about V · log 2N comparisons for each row of V classes. With CTC
// it costs 1.5 N² · T additions, and as many continuations of 16 T bytes are in memory at once.

namespace penstock::layers {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

/// Returns the first of the largest logits, without a logarithm; nothing if all are left out.
std::vector<ScoredClass> first_of_largest(std::span<const float> logits,
                                          const std::vector<bool>& left_out) {
  std::vector<ScoredClass> best;
  for (std::size_t c = 0; c < logits.size(); ++c)
    if (!left_out[c] && (best.empty() || logits[c] > logits[std::size_t(best.front().id)]))
      best = {{static_cast<std::int32_t>(c), 0}};
  return best;
}

}  // namespace

std::vector<ScoredClass> likeliest_classes(std::span<const float> logits, int count,
                                           std::span<const std::int32_t> suppressed) {
  std::vector<bool> left_out(logits.size());
  for (const std::int32_t c : suppressed) left_out.at(static_cast<std::size_t>(c)) = true;
  if (count == 1) return first_of_largest(logits, left_out);
  const auto logit = [&](std::int32_t c) {
    return static_cast<double>(logits[static_cast<std::size_t>(c)]);
  };
  std::vector<std::int32_t> order;
  for (std::size_t c = 0; c < logits.size(); ++c)
    if (!left_out[c] && std::isfinite(logits[c])) order.push_back(static_cast<std::int32_t>(c));
  const auto kept = order.begin() + std::min(static_cast<std::ptrdiff_t>(count), std::ssize(order));
  std::partial_sort(order.begin(), kept, order.end(), [&](std::int32_t a, std::int32_t b) {
    return logit(a) != logit(b) ? logit(a) > logit(b) : a < b;
  });
  if (order.empty()) return {};
  double high = logit(order.front()), sum = 0;
  for (const std::int32_t c : suppressed)
    if (std::isfinite(logit(c))) high = std::max(high, logit(c));
  for (const float one : logits)
    if (std::isfinite(one)) sum += std::exp(static_cast<double>(one) - high);
  std::vector<ScoredClass> found;
  for (auto c = order.begin(); c != kept; ++c)
    found.push_back({*c, logit(*c) - high - std::log(sum)});
  return found;
}

/// A hypothesis, by its place, with one class more.
struct TextBeam::Candidate {
  std::size_t parent = 0;
  std::int32_t id = 0;
  double attention = 0, score = 0;
  CtcPrefixScore::Prefix ctc = {};
};

TextBeam::TextBeam(const TextBeamOptions& options, std::shared_ptr<const CtcPrefixScore> ctc)
    : options_(options), ctc_(std::move(ctc)), running_(1) {
  const auto& [beam, penalty, weight, eos, most] = options_;
  if (beam < 1 || !std::isfinite(penalty) || !(weight >= 0 && weight <= 1))
    throw ConfigError(
        fmt::format("a beam search of texts takes a beam from 1, a finite length penalty and a "
                    "weight of CTC from 0 to 1, not {}, {:g} and {:g}",
                    beam, penalty, weight));
  if (weight > 0 && ctc_ == nullptr)
    throw ConfigError(fmt::format(
        "a beam search of texts with the weight {:g} of CTC needs CTC's logits", weight));
  if (weight > 0) running_.front().ctc = ctc_->empty();
  steps_.resize(static_cast<std::size_t>(beam));
}

int TextBeam::classes_of_row() const {
  if (options_.beam == 1) return 1;
  return options_.ctc_weight > 0 ? options_.beam * 3 / 2 : 2 * options_.beam;
}

void TextBeam::choose(std::span<const std::vector<ScoredClass>> rows) {
  const auto beam = static_cast<std::size_t>(options_.beam);
  std::vector<Candidate> best = candidates(rows);
  const std::int64_t length = std::ssize(running_.front().labels) + 1;
  std::vector<Running> next;
  for (std::size_t i = 0; i < best.size(); ++i) {
    Candidate& c = best[i];
    const Running& parent = running_[c.parent];
    std::vector<std::int32_t> labels = parent.labels;
    if (c.id != options_.eos) labels.push_back(c.id);
    if (c.id == options_.eos || length >= options_.most) {
      if (i < beam) end(std::move(labels), c.score, length);
    } else if (next.size() < beam) {
      next.push_back({std::move(labels), parent.slot, c.attention, c.score, std::move(c.ctc)});
    }
  }
  if (next.empty() && ended_.empty())  // nothing was possible
    for (const Running& one : running_)
      end(one.labels, one.score, std::max<std::int64_t>(length - 1, 1));
  place(std::move(next));
  if (!running_.empty() && !can_improve(length)) place({});
}

/// Returns the best continuations, in order.
std::vector<TextBeam::Candidate> TextBeam::candidates(
    std::span<const std::vector<ScoredClass>> rows) const {
  std::vector<std::size_t> row_of(static_cast<std::size_t>(options_.beam));  // by slot
  for (const Running& one : running_) row_of[static_cast<std::size_t>(one.slot)] = 1;
  std::exclusive_scan(row_of.begin(), row_of.end(), row_of.begin(), std::size_t{0});
  if (rows.size() != running_.size())
    throw ShapeError(
        fmt::format("a beam search of texts has {} texts that go on, and was given the "
                    "classes after {}",
                    running_.size(), rows.size()));
  std::vector<Candidate> found;
  for (std::size_t i = 0; i < running_.size(); ++i)
    for (const ScoredClass& next : rows[row_of[static_cast<std::size_t>(running_[i].slot)]])
      if (Candidate c = candidate(i, next); c.score > kImpossible) found.push_back(std::move(c));
  std::ranges::stable_sort(found, std::greater(), &Candidate::score);
  found.resize(std::min(found.size(), 2 * static_cast<std::size_t>(options_.beam)));
  return found;
}

TextBeam::Candidate TextBeam::candidate(std::size_t parent, const ScoredClass& next) const {
  const Running& from = running_[parent];
  const double weight = options_.ctc_weight;
  Candidate c{.parent = parent, .id = next.id, .attention = from.attention + next.log_probability};
  c.score = (1 - weight) * c.attention;
  if (weight == 0) return c;
  const bool ends = next.id == options_.eos;
  if (!ends) c.ctc = ctc_->extended(from.ctc, next.id);
  c.score += weight * (ends ? ctc_->whole(from.ctc) : c.ctc.log_probability);
  return c;
}

/// Adds a text of `length` labels and eos to those that have ended.
void TextBeam::end(std::vector<std::int32_t> labels, double score, std::int64_t length) {
  const double normalised = score / std::pow(static_cast<double>(length), options_.length_penalty);
  const auto at = std::ranges::upper_bound(ended_, normalised, std::greater(), &Hypothesis::score);
  ended_.insert(at, {std::move(labels), normalised});
  if (std::ssize(ended_) > options_.beam) ended_.pop_back();
}

bool TextBeam::can_improve(std::int64_t length) const {
  if (std::ssize(ended_) < options_.beam) return true;
  const double penalty = std::pow(static_cast<double>(length), options_.length_penalty);
  return running_.front().score / penalty > ended_.back().score;
}

/// Gives slots to the hypotheses that go on, whose `slot` is that of their parents.
void TextBeam::place(std::vector<Running> next) {
  steps_.assign(steps_.size(), {});
  std::vector<bool> taken(steps_.size());
  for (const Running& one : next) taken[static_cast<std::size_t>(one.slot)] = true;
  for (Running& one : next) {
    const std::int32_t parent = one.slot;
    if (steps_[static_cast<std::size_t>(parent)].goes_on()) {
      const auto free = std::ranges::find(taken, false);
      *free = true;
      one.slot = static_cast<std::int32_t>(free - taken.begin());
    }
    steps_[static_cast<std::size_t>(one.slot)] = {one.labels.back(), parent};
  }
  running_ = std::move(next);
}

}  // namespace penstock::layers
