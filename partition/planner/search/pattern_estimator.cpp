#include "partition/planner/search/pattern_estimator.h"

#include <algorithm>

#include "partition/planner/cut/limits.h"

namespace penstock::partition {
namespace {

enum Kind { kForward, kInput, kWeight };

Kind kind_of(ActionKind kind) {
  if (kind == ActionKind::forward) return kForward;
  return kind == ActionKind::backward_input ? kInput : kWeight;
}

/// Returns the arrival of a message that is sent at `end`. Its transfer starts once its receive is
/// posted too.
double arrival(double end, double posted, double transfer) {
  return std::max(end, posted) + transfer;
}

}  // namespace

PatternEstimator::PatternEstimator(const ScheduleProblem& problem)
    : problem_(problem),
      ends_(3 * problem.chunks() * problem.micro_batches()),
      places_(3 * problem.chunks()),
      ranks_(problem.ranks()) {
  for (int chunk = 0; chunk < problem.chunks(); ++chunk) {
    transfers_.push_back(problem.transfer_after(chunk));
  }
}

/// Takes the rank's next turn, and returns false if its input is not there yet. `clock` is the end
/// of the rank's previous turn. F, I and W are the ends of forward, input gradient and weight
/// gradient at place i of chunk c:
///   F(c, i) = max(clock, arrival of F(c - 1, i)) + seconds
///   I(c, i) = max(clock, arrival of I(c + 1, i)) + seconds; on the last chunk after F(c, i)
///   W(c, i) = max(clock, I(c, i)) + seconds
bool PatternEstimator::take(const Turn& turn, const std::vector<int>& order, RankState& rank) {
  const Kind kind = kind_of(turn.kind);
  const int chunk = turn.chunk, last = problem_.chunks() - 1;
  int& place = places_[kind * problem_.chunks() + chunk];
  double ready = 0;
  if (kind == kForward && chunk > 0) {
    ready = end(kForward, chunk - 1, place);
    if (ready < 0) return false;
    ready = arrival(ready, rank.posted, transfers_[chunk - 1]);
  } else if (kind == kInput) {
    ready = chunk == last ? end(kForward, chunk, place) : end(kInput, chunk + 1, place);
    if (ready < 0 || end(kForward, chunk, place) < 0) return false;
    ready = arrival(ready, rank.posted, transfers_[chunk]);
  } else if (kind == kWeight) {
    ready = end(kInput, chunk, place);
    if (ready < 0) return false;
  }
  const int batch = order[place];
  if (kind == kForward) {
    rank.held += problem_.held_by(chunk, batch);
    if (!problem_.fits(rank.held)) rank.clock = kInfeasible;
  } else if (kind == kWeight) {
    rank.held -= problem_.held_by(chunk, batch);
  }
  rank.posted = rank.clock;
  rank.clock = std::max(rank.clock, ready) + problem_.times[chunk][batch].of(turn.kind);
  end(kind, chunk, place++) = rank.clock;
  // The chunk's gradients are reduced between its last pass and the next turn.
  if (kind == kWeight && place == problem_.micro_batches()) rank.posted = rank.clock;
  return true;
}

double PatternEstimator::makespan(const Pattern& pattern) {
  std::ranges::fill(ends_, -1);
  std::ranges::fill(places_, 0);
  std::ranges::fill(ranks_, RankState());
  // An end that is computed is final: it depends only on ends that are known by then, in any order
  // of ranks. A round in which no rank moves is the last. The ranks that are left wait for each
  // other.
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      RankState& rank = ranks_[r];
      const auto& turns = pattern.ranks[r];
      while (rank.next < turns.size() && take(turns[rank.next], pattern.order, rank)) {
        ++rank.next;
        moved = true;
      }
    }
  }
  double latest = 0;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    if (ranks_[r].next < pattern.ranks[r].size()) return kInfeasible;
    latest = std::max(latest, ranks_[r].clock);
  }
  return latest;
}

double PatternEstimator::mean_end() const {
  double sum = 0;
  for (const RankState& rank : ranks_) sum += rank.clock;
  return sum / static_cast<double>(ranks_.size());
}

}  // namespace penstock::partition
