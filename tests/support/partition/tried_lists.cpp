#include "tests/support/partition/tried_lists.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <unordered_map>

namespace penstock::test {
namespace {

using partition::ScheduleProblem;

/// When ranks are free; when they were before their last pass, and so post the next receive; and
/// when what they take was sent.
using Times = std::vector<double>;

/// Passes done of each kind on each chunk, in a byte.
using Done = std::vector<std::uint8_t>;

struct HashOfDone {
  std::size_t operator()(const Done& done) const {
    std::size_t hash = 1469598103934665603u;
    for (const std::uint8_t count : done) hash = (hash ^ count) * 1099511628211u;
    return hash;
  }
};

/// Maps passes done to their times, without those that are later than others in every place.
using Level = std::unordered_map<Done, std::vector<Times>, HashOfDone>;

class AllLists {
 public:
  AllLists(const ScheduleProblem& problem, const std::vector<int>& order, double below)
      : problem_(problem),
        order_(order),
        chunks_(problem.chunks()),
        places_(problem.micro_batches()),
        ranks_(problem.ranks()),
        best_(below) {}

  /// Pass after pass, on any rank that has one to do.
  std::optional<double> shortest() {
    const double below = best_;
    Level level;
    level[Done(static_cast<std::size_t>(3 * chunks_), 0)] = {
        Times(at(2 * (ranks_ + chunks_ * places_)), 0)};
    for (int pass = 0; pass < 3 * chunks_ * places_ && !level.empty(); ++pass) {
      Level next;
      for (const auto& [done, all] : level)
        for (int kind = 0; kind < 3; ++kind)
          for (int chunk = 0; chunk < chunks_; ++chunk)
            if (may_follow(done, kind, chunk))
              for (const Times& times : all) follow({done, times}, kind, chunk, next);
      level = std::move(next);
    }
    for (const auto& [done, all] : level)
      for (const Times& times : all)
        best_ = std::min(best_, *std::max_element(times.begin(), times.begin() + ranks_));
    return best_ < below ? std::optional(best_) : std::nullopt;
  }

 private:
  enum Kind { kForward, kInput, kWeight };

  struct State {
    Done done;
    Times times;
  };

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  std::size_t of(int kind, int chunk) const { return at(kind * chunks_ + chunk); }
  int rank(int chunk) const { return problem_.chunk_rank[at(chunk)]; }
  std::size_t posted(int chunk) const { return at(ranks_ + rank(chunk)); }
  /// Returns the place of the time at which a forward's input, or an input gradient's, was sent.
  /// That time is 0 where no other rank sends it.
  std::size_t sent(int kind, int chunk, int place) const {
    return at(2 * ranks_ + (kind * chunks_ + chunk) * places_ + place);
  }
  /// Returns the seconds of the message that the pass takes.
  double transfer(int kind, int chunk) const {
    const int behind = kind == kForward ? chunk - 1 : chunk;
    return behind < 0 || behind + 1 == chunks_ ? 0 : problem_.transfer_after(behind);
  }
  double seconds(int kind, int chunk, int place) const {
    const auto& times = problem_.times[at(chunk)][at(order_[at(place)])];
    return kind == kForward ? times.forward
           : kind == kInput ? times.backward_input
                            : times.backward_weight;
  }

  /// Whether the pass's input is on its way, and its memory is free.
  bool may_follow(const Done& done, int kind, int chunk) const {
    const int place = done[of(kind, chunk)];
    if (place == places_) return false;
    if (kind == kWeight) return place < done[of(kInput, chunk)];
    if (kind == kInput)
      return place <
             (chunk + 1 == chunks_ ? done[of(kForward, chunk)] : done[of(kInput, chunk + 1)]);
    if (chunk > 0 && place >= done[of(kForward, chunk - 1)]) return false;
    double held = problem_.held_by(chunk, order_[at(place)]);
    for (int other = 0; other < chunks_; ++other)
      if (rank(other) == rank(chunk))
        for (int i = done[of(kWeight, other)]; i < done[of(kForward, other)]; ++i)
          held += problem_.held_by(other, order_[at(i)]);
    return problem_.fits(held);
  }

  /// Adds the state after the pass to `next`, unless it can't be shorter than the best.
  void follow(State state, int kind, int chunk, Level& next) {
    const int place = state.done[of(kind, chunk)]++;
    double& clock = state.times[at(rank(chunk))];
    double start = clock;
    if (kind != kWeight) {
      double& message = state.times[sent(kind, chunk, place)];
      if (message > 0)
        start =
            std::max(start, std::max(message, state.times[posted(chunk)]) + transfer(kind, chunk));
      message = 0;
    }
    state.times[posted(chunk)] = clock;
    clock = start + seconds(kind, chunk, place);
    if (kind == kWeight && place + 1 == places_)
      state.times[posted(chunk)] = clock;  // reduced next
    const int to = kind == kForward ? chunk + 1 : chunk - 1;
    if (kind != kWeight && to >= 0 && to < chunks_ && rank(to) != rank(chunk))
      state.times[sent(kind, to, place)] = clock;
    settle(state);
    if (bound(state) >= best_ * (1 - 1e-9)) return;
    keep(std::move(state), next);
  }

  /// Counts a message that was sent before its receive could be posted as sent when it could be.
  void settle(State& state) const {
    for (int kind = kForward; kind <= kInput; ++kind)
      for (int chunk = 0; chunk < chunks_; ++chunk)
        for (int place = state.done[of(kind, chunk)]; place < places_; ++place) {
          double& message = state.times[sent(kind, chunk, place)];
          if (message > 0) message = std::max(message, state.times[posted(chunk)]);
        }
  }

  /// No end is sooner: of any rank's work, nor of any micro-batch's way to the loss and back.
  double bound(const State& state) const {
    double bound = 0;
    std::vector<double> work(at(ranks_), 0);
    for (int place = 0; place < places_; ++place) {
      double ready = 0;
      for (int chunk = 0; chunk < chunks_; ++chunk) go(state, kForward, chunk, place, ready);
      for (int chunk = chunks_; chunk-- > 0;) go(state, kInput, chunk, place, ready);
      for (int kind = 0; kind < 3; ++kind)
        for (int chunk = 0; chunk < chunks_; ++chunk)
          if (place >= state.done[of(kind, chunk)])
            work[at(rank(chunk))] += seconds(kind, chunk, place);
      if (place >= state.done[of(kInput, 0)])
        bound = std::max(bound, ready + seconds(kWeight, 0, place));
    }
    for (int r = 0; r < ranks_; ++r) bound = std::max(bound, state.times[at(r)] + work[at(r)]);
    return bound;
  }

  /// When the pass ends, if it is still to come, and what enters it is there at `ready`.
  void go(const State& state, int kind, int chunk, int place, double& ready) const {
    if (place < state.done[of(kind, chunk)]) return;
    ready = std::max(ready, state.times[sent(kind, chunk, place)]) + transfer(kind, chunk);
    ready = std::max(ready, state.times[at(rank(chunk))]) + seconds(kind, chunk, place);
  }

  static bool no_later(const Times& a, const Times& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a[i] > b[i]) return false;
    return true;
  }

  static void keep(State state, Level& next) {
    std::vector<Times>& others = next[state.done];
    for (const Times& other : others)
      if (no_later(other, state.times)) return;
    std::erase_if(others, [&](const Times& other) { return no_later(state.times, other); });
    others.push_back(std::move(state.times));
  }

  const ScheduleProblem& problem_;
  const std::vector<int>& order_;
  int chunks_, places_, ranks_;
  double best_;
};

}  // namespace

std::optional<double> shortest_lists(const ScheduleProblem& problem, const std::vector<int>& order,
                                     double below) {
  return AllLists(problem, order, below).shortest();
}

std::optional<double> shortest_lists(const ScheduleProblem& problem, double below) {
  std::vector<int> order(static_cast<std::size_t>(problem.micro_batches()));
  std::iota(order.begin(), order.end(), 0);
  std::optional<double> shortest;
  do {
    if (const auto found = shortest_lists(problem, order, shortest.value_or(below)))
      shortest = found;
  } while (std::ranges::next_permutation(order).found);
  return shortest;
}

}  // namespace penstock::test
