#include "partition/planner/report/step_causes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace penstock::partition {
namespace {

// Every rank is followed through its list, and each interval without computing is attributed to one
// cause. The critical path is found backwards from the last end. The predecessor of an action is
// the action that ends when it starts, on the same rank, or else the sender of its input. See
// step_causes.h.

/// Passes finds the position of the pass of a micro-batch through a chunk, and the pass for which
/// it waits.
class Passes {
 public:
  Passes(const Simulation& step, const std::vector<int>& chunk_rank)
      : step_(step), chunk_rank_(chunk_rank) {
    for (int rank = 0; rank < static_cast<int>(step.ranks.size()); ++rank)
      for (int place = 0; place < static_cast<int>(step.ranks[rank].size()); ++place) {
        const Action& action = step.ranks[rank][place].action;
        if (action.kind == ActionKind::backward_weight || !computes(action.kind)) continue;
        places_[{action.kind == ActionKind::forward, action.chunk, action.micro_batch}] = {rank,
                                                                                           place};
      }
  }

  const TimedAction& at(ActionPlace place) const { return step_.ranks[place.rank][place.place]; }

  /// Returns the pass on another rank that makes the action's input, if there is one.
  std::optional<ActionPlace> sender(const Action& action) const {
    if (action.kind == ActionKind::backward_weight) return std::nullopt;
    const bool forward = action.kind == ActionKind::forward;
    const int from = forward ? action.chunk - 1 : action.chunk + 1;
    if (from < 0 || from >= static_cast<int>(chunk_rank_.size()) ||
        chunk_rank_[from] == chunk_rank_[action.chunk])
      return std::nullopt;
    const auto found = places_.find({forward, from, action.micro_batch});
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  const Simulation& step_;
  const std::vector<int>& chunk_rank_;
  std::map<std::tuple<bool, int, int>, ActionPlace> places_;  // key: (forward, chunk, micro-batch)
};

/// Returns the end of the last action on any rank, at which the step ends for all of them.
double last_end(const Simulation& step) {
  double end = 0;
  for (const auto& rank : step.ranks)
    for (const TimedAction& timed : rank) end = std::max(end, timed.end);
  return end;
}

/// Walks through a rank's list, and splits each gap before a computation in two: until the sender
/// has computed the input the rank waits for it, and after that for its message. A gap before the
/// first computation is fill as a whole. The gap up to the end of the last reduction is its own
/// cause, and the rest of the step is drain.
std::vector<Blank> blanks_of(const std::vector<TimedAction>& rank, const Passes& passes,
                             double end) {
  std::vector<Blank> list;
  double now = 0, reduced = 0;
  const auto wait_until = [&](double time, IdleCause cause, int other = -1) {
    if (time > now) list.push_back({now, time, cause, other});
    now = std::max(now, time);
  };
  bool first = true;
  for (const TimedAction& timed : rank) {
    if (timed.action.kind == ActionKind::reduce) reduced = std::max(reduced, timed.end);
    if (!computes(timed.action.kind)) continue;
    const auto sender = passes.sender(timed.action);
    const int other = sender ? sender->rank : -1;
    if (!first && sender)
      wait_until(std::min(passes.at(*sender).end, timed.start), IdleCause::wait, other);
    wait_until(timed.start, first ? IdleCause::fill : IdleCause::message, other);
    first = false;
    now = timed.end;
  }
  wait_until(reduced, IdleCause::reduction);
  for (const TimedAction& timed : rank) {
    if (timed.action.kind != ActionKind::step) continue;
    wait_until(timed.start, IdleCause::drain);
    now = std::max(now, timed.end);
  }
  wait_until(end, IdleCause::drain);
  return list;
}

double& member(IdleCauses& causes, IdleCause cause) {
  switch (cause) {
    case IdleCause::fill:
      return causes.fill;
    case IdleCause::wait:
      return causes.wait;
    case IdleCause::message:
      return causes.message;
    case IdleCause::reduction:
      return causes.reduction;
    default:
      return causes.drain;
  }
}

/// PathFinder goes from the last end back to time 0. Ends and starts that differ by no more than
/// rounding, `slack_`, count as the same time.
class PathFinder {
 public:
  PathFinder(const Simulation& step, const std::vector<int>& chunk_rank)
      : step_(step), passes_(step, chunk_rank), slack_(1e-9 * last_end(step)) {}

  std::vector<ActionPlace> path() const {
    std::vector<ActionPlace> places;
    std::size_t actions = 0;
    for (const auto& rank : step_.ranks) actions += rank.size();
    for (auto at = last(); at && places.size() < actions; at = before(*at)) places.push_back(*at);
    std::ranges::reverse(places);
    return places;
  }

 private:
  /// Returns the action that ends last. If several do, within the slack, it is the one on the
  /// lowest rank.
  std::optional<ActionPlace> last() const {
    std::optional<ActionPlace> last;
    for (int rank = 0; rank < static_cast<int>(step_.ranks.size()); ++rank)
      for (int place = 0; place < static_cast<int>(step_.ranks[rank].size()); ++place)
        if (const ActionPlace here{rank, place};
            !last || passes_.at(here).end >= passes_.at(*last).end + slack_)
          last = here;
    return last;
  }

  /// Returns true if the action ends when another starts, or later.
  bool meets(ActionPlace place, double start) const {
    return passes_.at(place).end >= start - slack_;
  }

  /// Returns the last of the rank's actions before `from` whose kind `takes` accepts and that ends
  /// no earlier than `start`.
  template <class Takes>
  std::optional<ActionPlace> earlier(ActionPlace from, double start, Takes takes) const {
    for (int place = from.place - 1; place >= 0; --place)
      if (const ActionPlace here{from.rank, place};
          takes(passes_.at(here).action.kind) && meets(here, start))
        return here;
    return std::nullopt;
  }

  /// Returns the action for which this one waited, or nothing if it starts with the step.
  /// - A reduction waited for the computation that completed its gradients, or for the reduction
  ///   before it.
  /// - A computation waited for its rank or, if that was idle before it, for the sender of its
  ///   input.
  /// - A step waited for its own rank or, at a barrier, for any other rank.
  std::optional<ActionPlace> before(ActionPlace at) const {
    const TimedAction& timed = passes_.at(at);
    if (timed.start <= slack_) return std::nullopt;
    const auto any = [](ActionKind kind) { return kind != ActionKind::step; };
    if (timed.action.kind == ActionKind::reduce) return earlier(at, timed.start, any);
    if (computes(timed.action.kind)) {
      const auto own = earlier(at, 0, computes), sender = passes_.sender(timed.action);
      if (own && (!sender || meets(*own, timed.start))) return own;
      return sender;
    }
    if (const auto own = earlier(at, timed.start, any)) return own;
    for (int rank = 0; rank < static_cast<int>(step_.ranks.size()); ++rank) {
      const int end = static_cast<int>(step_.ranks[rank].size());
      if (const auto other = earlier({rank, end}, timed.start, any)) return other;
    }
    return std::nullopt;
  }

  const Simulation& step_;
  const Passes passes_;
  const double slack_;
};

}  // namespace

std::vector<std::vector<Blank>> blanks(const Simulation& step, const std::vector<int>& chunk_rank) {
  const Passes passes(step, chunk_rank);
  const double end = last_end(step);
  std::vector<std::vector<Blank>> list;
  for (const auto& rank : step.ranks) list.push_back(blanks_of(rank, passes, end));
  return list;
}

std::vector<IdleCauses> idle_causes(const Simulation& step, const std::vector<int>& chunk_rank) {
  std::vector<IdleCauses> causes;
  for (const auto& rank : blanks(step, chunk_rank)) {
    IdleCauses& sums = causes.emplace_back();
    for (const Blank& blank : rank) member(sums, blank.cause) += blank.end - blank.start;
  }
  return causes;
}

std::vector<ActionPlace> critical_path(const Simulation& step, const std::vector<int>& chunk_rank) {
  return PathFinder(step, chunk_rank).path();
}

}  // namespace penstock::partition
