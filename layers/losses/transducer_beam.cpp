#include "layers/losses/transducer_beam.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/log_add.h"

// The search is the time-synchronous decoding of Saon, Tüske and Audhkhasi (2020),
// "Alignment-length synchronous decoding for RNN transducer", with the pruning of torchaudio's
// RNNTBeamSearch, and extended to the durations of a TDT. It goes from frame to frame, with at most
// N hypotheses:
//
//   waiting   hypotheses at later frames. Every path leaves the frames up to t once, so those at
//             different later frames are compared by their probabilities alone.
//   level     hypotheses at frame t, after so many labels there. Level 0 came from frames before.
//
// A level is expanded by the blank and the N best labels, each with all durations. What leads on
// joins `waiting`; what stays is the next level, of which the N best remain. Those below the N-th
// best of `waiting` would be pushed out, so they go, unless they add to a text that is among these
// N: torchaudio drops the latter too, and so loses a part of its sums. After the last level,
// `waiting` shrinks to the N best. Equal texts at one frame and level merge by adding their
// probabilities. Levels stay apart, since the limit of labels at a frame counts them; they meet
// when they lead on.
//
// Texts are nodes of a tree, so equal ones are the same node. The prediction network runs once for
// each node that is kept, and the joint network once for each node and frame, for all new nodes of
// a level together. With V classes, a frame costs about N · J · V multiply-adds and N · V for the
// best labels.

namespace penstock::layers {
namespace {

using State = TransducerStep::State;

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

/// Returns the log-softmax of logits. One that is no number is impossible.
std::vector<double> log_softmax(std::span<const float> logits) {
  std::vector<double> scores(logits.begin(), logits.end());
  double high = kImpossible, sum = 0;
  for (double& score : scores) {
    if (!std::isfinite(score)) score = kImpossible;
    high = std::max(high, score);
  }
  if (high == kImpossible) return scores;
  for (const double score : scores) sum += std::exp(score - high);
  for (double& score : scores) score -= high + std::log(sum);
  return scores;
}

/// A step that a hypothesis may take.
struct Arc {
  std::int32_t token = 0, frames = 0;
  double log_probability = 0;
};

/// A text in the tree that led to a frame.
struct Reached {
  int text = 0;
  std::size_t frame = 0;
  double score = 0;  // log-probability
};

/// The texts of one search, as nodes of a tree. Node 0 is the empty text.
class TextTree {
 public:
  explicit TextTree(const TransducerStep& networks) : networks_(networks) {
    nodes_.push_back({.state = networks.start()});
  }

  int parent(int text) const { return node(text).parent; }
  std::int32_t last(int text) const { return node(text).label; }
  const State* state(int text) const { return node(text).state.get(); }

  /// Returns the text with one label more, whose state it computes unless it is known. The text's
  /// own state must be.
  int child(int text, std::int32_t label) {
    const auto [place, made] =
        children_.try_emplace({text, label}, static_cast<int>(nodes_.size()));
    if (made) nodes_.push_back({.parent = text, .label = label});
    Node& found = node(place->second);
    if (!found.state) {
      found.state = networks_.read(*node(text).state, label);
      known_.push_back(place->second);
    }
    return place->second;
  }

  /// Forgets all states but those of these hypotheses, so that memory follows the beam.
  void keep_states(const std::vector<Reached>& reached) {
    std::vector<int> kept;
    for (const Reached& one : reached) kept.push_back(one.text);
    std::ranges::sort(kept);
    std::erase_if(known_, [&](int text) {
      const bool forgotten = !std::ranges::binary_search(kept, text);
      if (forgotten) node(text).state.reset();
      return forgotten;
    });
  }

  std::vector<std::int32_t> labels(int text) const {
    std::vector<std::int32_t> labels;
    for (; text != 0; text = node(text).parent) labels.push_back(node(text).label);
    std::ranges::reverse(labels);
    return labels;
  }

 private:
  struct Node {
    int parent = -1;
    std::int32_t label = 0;
    std::shared_ptr<const State> state = {};
  };

  const Node& node(int text) const { return nodes_[static_cast<std::size_t>(text)]; }
  Node& node(int text) { return nodes_[static_cast<std::size_t>(text)]; }

  const TransducerStep& networks_;
  std::vector<Node> nodes_;
  std::map<std::pair<int, std::int32_t>, int> children_;  // by text and label
  std::vector<int> known_ = {0};                          // texts with states
};

/// Hypotheses before pruning, in the order in which they came. A text is named by its parent and
/// last label, so that it needs no node.
class Candidates {
 public:
  struct Place {
    std::size_t frame = 0;
    int parent = -1;
    std::int32_t label = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct Candidate {
    Place place;
    double score = 0;
  };

  void add(const Place& place, double score) {
    const auto [found, fresh] = places_.try_emplace(place, all_.size());
    if (fresh)
      all_.push_back({place, score});
    else
      all_[found->second].score = log_add(all_[found->second].score, score);
  }

  /// Returns the best ones, in order. Those that came first lead among equals.
  std::vector<Candidate> best(std::size_t count) const {
    std::vector<Candidate> sorted = all_;
    std::ranges::stable_sort(sorted, std::greater(), &Candidate::score);
    sorted.resize(std::min(count, sorted.size()));
    return sorted;
  }

  /// Returns the best of those that are above the worst of the `count` best others, or have the
  /// text of one of these. With fewer others, all but impossible ones are above.
  std::vector<Candidate> best_beside(const Candidates& others, std::size_t count) const {
    const std::vector<Candidate> rivals = others.best(count);
    const double bar = rivals.size() < count ? kImpossible : rivals.back().score;
    std::set<std::pair<int, std::int32_t>> texts;
    for (const Candidate& rival : rivals) texts.emplace(rival.place.parent, rival.place.label);
    std::vector<Candidate> kept = best(all_.size());
    std::erase_if(kept, [&](const Candidate& c) {
      return !(c.score > bar) && !texts.contains({c.place.parent, c.place.label});
    });
    kept.resize(std::min(count, kept.size()));
    return kept;
  }

 private:
  std::vector<Candidate> all_;
  std::map<Place, std::size_t> places_;  // in all_
};

/// The search through one utterance.
class Search {
 public:
  Search(const TransducerStep& networks, const TransducerBeamOptions& options,
         std::span<const float> encoded_TJ)
      : networks_(networks),
        options_(options),
        beam_(static_cast<std::size_t>(options.beam)),
        encoded_TJ_(encoded_TJ),
        frames_(networks.frames(encoded_TJ)),
        tree_(networks) {}

  std::vector<Hypothesis> run() {
    for (std::size_t t = 0; t < frames_; ++t) pass(t);
    std::vector<Hypothesis> ranked;
    for (const Reached& one : waiting_) {
      Hypothesis& hypothesis = ranked.emplace_back(Hypothesis{tree_.labels(one.text), one.score});
      if (options_.score_norm)
        hypothesis.score /= static_cast<double>(hypothesis.labels.size() + 1);
    }
    std::ranges::stable_sort(ranked, [](const Hypothesis& a, const Hypothesis& b) {
      return a.score != b.score ? a.score > b.score : a.labels < b.labels;
    });
    return ranked;
  }

 private:
  /// Takes all hypotheses at a frame on to later ones.
  void pass(std::size_t frame) {
    Candidates later;
    std::vector<Reached> level;
    for (const Reached& one : waiting_)
      if (one.frame == frame)
        level.push_back(one);
      else
        later.add(place_of(one.text, one.frame), one.score);
    arcs_.clear();
    for (int labels = 1; !level.empty(); ++labels) {
      find_arcs(level, frame);
      Candidates staying;
      for (const Reached& one : level)
        for (const Arc& arc : arcs_.at(one.text)) {
          const bool limit = arc.token != 0 && labels == options_.max_labels_at_frame;
          const auto frames = static_cast<std::size_t>(std::max(arc.frames, limit ? 1 : 0));
          Candidates& where = frames == 0 ? staying : later;
          where.add(after(one, arc.token, std::min(frame + frames, frames_)),
                    one.score + arc.log_probability);
        }
      level = reached(staying.best_beside(later, beam_));
    }
    waiting_ = reached(later.best(beam_));
    tree_.keep_states(waiting_);
  }

  Candidates::Place place_of(int text, std::size_t frame) const {
    return {frame, tree_.parent(text), tree_.last(text)};
  }

  Candidates::Place after(const Reached& one, std::int32_t token, std::size_t frame) const {
    if (token == 0) return place_of(one.text, frame);
    return {frame, one.text, token};
  }

  /// Makes the candidates' texts, with their states.
  std::vector<Reached> reached(const std::vector<Candidates::Candidate>& candidates) {
    std::vector<Reached> made;
    for (const auto& [place, score] : candidates) {
      const int text = place.parent < 0 ? 0 : tree_.child(place.parent, place.label);
      made.push_back({text, place.frame, score});
    }
    return made;
  }

  /// Computes the arcs of texts that had none at this frame.
  void find_arcs(const std::vector<Reached>& level, std::size_t frame) {
    std::vector<int> fresh;
    std::vector<const State*> states;
    for (const Reached& one : level) {
      if (arcs_.contains(one.text)) continue;
      fresh.push_back(one.text);
      states.push_back(tree_.state(one.text));
    }
    if (fresh.empty()) return;
    const auto width = static_cast<std::size_t>(networks_.options().joint);
    const auto outputs = static_cast<std::size_t>(networks_.outputs());
    const std::vector<float> logits =
        networks_.logits(states, encoded_TJ_.subspan(frame * width, width));
    for (std::size_t i = 0; i < fresh.size(); ++i)
      arcs_[fresh[i]] = arcs_of(std::span(logits).subspan(i * outputs, outputs));
  }

  /// Returns the blank's arcs and those of the best labels, lower labels first among equals.
  std::vector<Arc> arcs_of(std::span<const float> logits) const {
    const auto classes = static_cast<std::size_t>(networks_.options().classes);
    const std::vector<double> tokens = log_softmax(logits.first(classes));
    std::vector<double> durations = log_softmax(logits.subspan(classes));
    if (durations.empty()) durations = {0};
    std::vector<std::int32_t> order(classes - 1);
    std::iota(order.begin(), order.end(), 1);
    const auto end = order.begin() + std::ssize(order);
    const auto kept = order.begin() + std::min(options_.beam, static_cast<int>(order.size()));
    std::partial_sort(order.begin(), kept, end, [&](std::int32_t a, std::int32_t b) {
      const double of_a = tokens[static_cast<std::size_t>(a)],
                   of_b = tokens[static_cast<std::size_t>(b)];
      return of_a != of_b ? of_a > of_b : a < b;
    });
    order.erase(kept, end);
    order.insert(order.begin(), 0);
    std::vector<Arc> arcs;
    for (const std::int32_t token : order)
      for (std::size_t d = 0; d < durations.size(); ++d)
        arcs.push_back({token, networks_.advance(token, d),
                        tokens[static_cast<std::size_t>(token)] + durations[d]});
    return arcs;
  }

  const TransducerStep& networks_;
  const TransducerBeamOptions& options_;
  std::size_t beam_;
  std::span<const float> encoded_TJ_;
  std::size_t frames_;
  TextTree tree_;
  std::vector<Reached> waiting_ = {{}};
  std::map<int, std::vector<Arc>> arcs_;  // of each text at the frame
};

}  // namespace

TransducerBeam::TransducerBeam(const TransducerOptions& options, std::span<const Tensor> params,
                               const TransducerBeamOptions& search)
    : networks_(options, params), search_(search) {
  if (search.beam < 1 || search.max_labels_at_frame < 1)
    throw ConfigError(
        fmt::format("{}: a beam search takes a beam and labels at a frame from 1, not {} and {}",
                    options.name, search.beam, search.max_labels_at_frame));
}

std::vector<Hypothesis> TransducerBeam::hypotheses(std::span<const float> encoded_TJ) const {
  return Search(networks_, search_, encoded_TJ).run();
}

}  // namespace penstock::layers
