#include "partition/report/step_causes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace penstock::partition {
namespace {

/// Where the pass of a micro-batch through a chunk stands, and what it waits for.
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

  /// What makes the action's input on another rank; nothing: it needs none.
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
  std::map<std::tuple<bool, int, int>, ActionPlace> places_;  // (forward, chunk, micro-batch)
};

double last_end(const Simulation& step) {
  double end = 0;
  for (const auto& rank : step.ranks)
    for (const TimedAction& timed : rank) end = std::max(end, timed.end);
  return end;
}

IdleCauses causes_of(const std::vector<TimedAction>& rank, const Passes& passes, double end) {
  IdleCauses causes;
  double now = 0, reduced = 0, stepping = 0;
  bool first = true;
  for (const TimedAction& timed : rank) {
    if (timed.action.kind == ActionKind::reduce) reduced = std::max(reduced, timed.end);
    if (timed.action.kind == ActionKind::step) stepping += timed.end - timed.start;
    if (!computes(timed.action.kind)) continue;
    const auto sender = passes.sender(timed.action);
    const double made = sender ? std::clamp(passes.at(*sender).end, now, timed.start) : now;
    if (first) {
      causes.fill = timed.start - now;
    } else {
      causes.wait += made - now;
      causes.message += timed.start - made;
    }
    first = false;
    now = timed.end;
  }
  causes.reduction = std::max(0.0, reduced - now);
  causes.drain = end - now - causes.reduction - stepping;
  return causes;
}

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
  std::optional<ActionPlace> last() const {
    std::optional<ActionPlace> last;
    for (int rank = 0; rank < static_cast<int>(step_.ranks.size()); ++rank)
      for (int place = 0; place < static_cast<int>(step_.ranks[rank].size()); ++place)
        if (const ActionPlace here{rank, place};
            !last || passes_.at(here).end >= passes_.at(*last).end + slack_)
          last = here;
    return last;
  }

  bool meets(ActionPlace place, double start) const {
    return passes_.at(place).end >= start - slack_;
  }

  /// Of the rank's actions before `place` the last that `takes` and ends no earlier than `start`.
  template <class Takes>
  std::optional<ActionPlace> earlier(ActionPlace from, double start, Takes takes) const {
    for (int place = from.place - 1; place >= 0; --place)
      if (const ActionPlace here{from.rank, place};
          takes(passes_.at(here).action.kind) && meets(here, start))
        return here;
    return std::nullopt;
  }

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

std::vector<IdleCauses> idle_causes(const Simulation& step, const std::vector<int>& chunk_rank) {
  const Passes passes(step, chunk_rank);
  const double end = last_end(step);
  std::vector<IdleCauses> causes;
  for (const auto& rank : step.ranks) causes.push_back(causes_of(rank, passes, end));
  return causes;
}

std::vector<ActionPlace> critical_path(const Simulation& step, const std::vector<int>& chunk_rank) {
  return PathFinder(step, chunk_rank).path();
}

}  // namespace penstock::partition
