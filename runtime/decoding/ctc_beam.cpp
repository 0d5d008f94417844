#include "runtime/decoding/ctc_beam.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/log_add.h"
#include "runtime/decoding/text_tree.h"

// The search is the prefix beam search of Hannun et al. (2014), "First-pass large vocabulary
// continuous speech recognition using bi-directional recurrent DNNs", with the two prunings of
// pyctcdecode. It goes from frame to frame with the beginnings of texts. Each has two sums over the
// paths that lead to it:
//
//   blank   paths that end in a blank
//   label   paths that end in the text's last label
//
// At a frame with probabilities y, a blank takes both on to `blank`. The last label takes `label`
// on, since repeats are one label, and `blank` on to the text with this label once more. Every
// other label takes both on to the text with one label more. Texts are nodes of a tree
// (text_tree.h), so equal ones are the same node.
//
// A frame's labels are those with log y >= label_floor and the likeliest one. The score of a text
// is the logarithm of both sums, plus what its words add (word_scores.h). Of the texts, those
// remain whose score is within score_range of the best, and of them the `beam` best. Without
// prunings the sums are exact. At the end, equal texts of different pieces add up, before their
// words do.
//
// With K labels a frame, the search costs about frames · beam · K additions of logarithms.

namespace penstock::runtime {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

/// A label of a frame, and the logarithm of its probability.
struct ScoredLabel {
  std::int32_t label = 0;
  double log_probability = 0;
};

/// Returns the labels of a frame that the search follows, lower ones first.
std::vector<ScoredLabel> labels_of(std::span<const float> logits, std::int64_t labels,
                                   double floor) {
  double high = kImpossible, sum = 0;
  for (const float logit : logits)
    if (std::isfinite(logit)) high = std::max(high, static_cast<double>(logit));
  for (const float logit : logits)
    if (std::isfinite(logit)) sum += std::exp(static_cast<double>(logit) - high);
  std::vector<ScoredLabel> kept;
  ScoredLabel best{0, kImpossible};
  for (std::int32_t label = 0; label < labels; ++label) {
    const float logit = logits[static_cast<std::size_t>(label)];
    if (!std::isfinite(logit)) continue;
    const double log_probability = static_cast<double>(logit) - high - std::log(sum);
    if (log_probability > best.log_probability) best = {label, log_probability};
    if (log_probability >= floor) kept.push_back({label, log_probability});
  }
  if (!kept.empty()) return kept;
  return best.log_probability == kImpossible ? std::vector<ScoredLabel>{{0, 0}}
                                             : std::vector<ScoredLabel>{best};
}

/// A beginning of a text, and the logarithms of its sums.
struct Beginning {
  int text = TextTree::kEmpty;
  double blank = kImpossible, label = kImpossible;
  double score = 0;  // set when the frame is complete

  double log_probability() const { return log_add(blank, label); }
};

/// A text at the end of the search.
struct Ended {
  std::vector<std::int32_t> labels;
  double log_probability = 0, words = 0;  // words: what they add to the score
};

/// The search through one utterance.
class Search {
 public:
  Search(const CtcBeamOptions& options, std::span<const std::string> texts,
         const WordScores* scores)
      : options_(options), tree_(texts, scores) {
    beam_.push_back({.blank = 0});
  }

  /// Takes all beginnings through a frame.
  void pass(std::span<const ScoredLabel> labels) {
    for (const Beginning& from : beam_)
      for (const auto& [label, y] : labels) {
        if (label == 0) {
          Beginning& to = reached(from.text);
          to.blank = log_add(to.blank, from.log_probability() + y);
        } else if (label == tree_.last(from.text)) {
          extend(from.text, from.label + y);
          extend(tree_.child(from.text, label), from.blank + y);
        } else {
          extend(tree_.child(from.text, label), from.log_probability() + y);
        }
      }
    prune();
  }

  /// Returns the texts that are left, of which those that are written alike are one.
  std::vector<layers::Hypothesis> texts(const CtcBeam::Writer& write) const {
    std::map<std::string, Ended> by_text;
    for (const Beginning& one : beam_) {
      Ended found{tree_.labels(one.text), one.log_probability(), tree_.ended_score(one.text)};
      const auto [place, fresh] = by_text.try_emplace(write(found.labels), found);
      if (!fresh)
        place->second.log_probability =
            log_add(place->second.log_probability, found.log_probability);
    }
    std::vector<layers::Hypothesis> best;
    for (auto& [text, one] : by_text)
      best.push_back({std::move(one.labels), one.log_probability + one.words});
    std::ranges::stable_sort(best, [](const auto& a, const auto& b) {
      return a.score != b.score ? a.score > b.score : a.labels < b.labels;
    });
    return best;
  }

 private:
  /// Returns what the frame leads to at a text.
  Beginning& reached(int text) {
    const auto at = static_cast<std::size_t>(text);
    if (places_.size() <= at) places_.resize(2 * at + 1, -1);
    if (places_[at] < 0) {
      places_[at] = static_cast<int>(next_.size());
      next_.push_back({.text = text});
    }
    return next_[static_cast<std::size_t>(places_[at])];
  }

  void extend(int text, double log_probability) {
    if (log_probability == kImpossible) return;
    Beginning& to = reached(text);
    to.label = log_add(to.label, log_probability);
  }

  /// Keeps the best. Texts that came first lead among equals.
  void prune() {
    double best = kImpossible;
    for (Beginning& one : next_) {
      one.score = one.log_probability() + tree_.score(one.text);
      best = std::max(best, one.score);
      places_[static_cast<std::size_t>(one.text)] = -1;
    }
    std::erase_if(next_, [&](const Beginning& one) {
      return !(one.score >= best - options_.score_range) || one.score == kImpossible;
    });
    std::ranges::stable_sort(next_, std::greater(), &Beginning::score);
    next_.resize(std::min(next_.size(), static_cast<std::size_t>(options_.beam)));
    beam_.swap(next_);
    next_.clear();
    std::vector<int> kept;
    for (const Beginning& one : beam_) kept.push_back(one.text);
    tree_.keep(kept);
  }

  const CtcBeamOptions& options_;
  TextTree tree_;
  std::vector<Beginning> beam_, next_;
  std::vector<int> places_;  // in next_, by text; -1: none
};

}  // namespace

CtcBeam::CtcBeam(const CtcBeamOptions& options, std::vector<std::string> texts, Writer write,
                 std::shared_ptr<const WordScores> scores)
    : options_(options),
      texts_(std::move(texts)),
      write_(std::move(write)),
      scores_(std::move(scores)) {
  if (options.beam < 1 || !(options.label_floor <= 0) || !(options.score_range >= 0))
    throw ConfigError(
        fmt::format("a beam search of CTC takes a beam from 1, a floor of labels up to 0 and a "
                    "range of scores from 0, not {}, {:g} and {:g}",
                    options.beam, options.label_floor, options.score_range));
}

std::vector<layers::Hypothesis> CtcBeam::hypotheses(std::span<const float> logits_FC,
                                                    std::int64_t channels,
                                                    std::int64_t labels) const {
  const auto width = static_cast<std::size_t>(channels);
  if (channels < 1 || logits_FC.size() % width != 0)
    throw ShapeError(
        fmt::format("{} logits are not frames of {} channels", logits_FC.size(), channels));
  if (labels > channels || labels != std::ssize(texts_))
    throw ShapeError(fmt::format("{} labels with {} texts can't be told from {} channels", labels,
                                 texts_.size(), channels));
  Search search(options_, texts_, scores_.get());
  for (std::size_t start = 0; start < logits_FC.size(); start += width)
    search.pass(labels_of(logits_FC.subspan(start, width), labels, options_.label_floor));
  return search.texts(write_);
}

}  // namespace penstock::runtime
