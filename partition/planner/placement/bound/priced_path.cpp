#include "partition/planner/placement/bound/priced_path.h"

#include <algorithm>
#include <cmath>

#include "partition/planner/cut/limits.h"

namespace penstock::partition {
namespace {

constexpr double kRoundedUp = 1 - 1e-9;  // absorbs rounding, lest it adds a micro-batch in flight

}  // namespace

PricedPaths::PricedPaths(const SequenceLoad& sequence, const std::vector<NodeType>& types,
                         int micro_batches, double limit)
    : sequence_(sequence),
      types_(types),
      micro_batches_(micro_batches),
      limit_(limit * kRounding),
      min_per_work_(kInfeasible),
      fresh_(static_cast<std::size_t>(layers()) + 1) {
  for (const NodeType& type : types) {
    inside_.emplace_back(fresh_.size() * static_cast<std::size_t>(type.states));
    for (const NodeStage& stage : type.stages)
      min_per_work_ = std::min(min_per_work_, stage.per_work);
  }
  for (std::size_t type = 0; type < types.size(); ++type)
    for (std::size_t stage = 0; stage < types[type].stages.size(); ++stage) {
      Group& group = groups_.emplace_back(Group{.type = type, .stage = stage});
      for (int first = 0; first < layers(); ++first) {
        group.begins.push_back(group.segments.size());
        add_segments(types[type], stage_of(group), first, group.segments);
      }
      group.begins.push_back(group.segments.size());
      effort_ += static_cast<double>(group.segments.size() * (2 + stage_of(group).moves.size()));
    }
}

/// Adds the segments of a stage from one first layer on. Work and least bytes grow with `last`, so
/// the first that is too large ends the loop. The work after a stage needs at least `after`
/// stages, each of which adds a micro-batch in flight.
void PricedPaths::add_segments(const NodeType& type, const NodeStage& stage, int first,
                               std::vector<Segment>& segments) const {
  const auto within = [&](double load) { return load <= limit_ ? load : kInfeasible; };
  const double enter = first == 0 ? 0 : type.between.seconds(sequence_.crossing(first));
  const double go_on = first == 0 ? kInfeasible : type.within.seconds(sequence_.crossing(first));
  for (int last = first + 1; last <= layers(); ++last) {
    const double work = stage.per_work * sequence_.work(first, last);
    if (work > limit_ || sequence_.bytes_at_least(first, last, 1) > stage.memory * kRounding)
      return;
    const double rest = sequence_.work(last, layers()) * min_per_work_;
    const double after = limit_ > 0 ? std::ceil(rest / limit_ * kRoundedUp) : 0;
    const int flying = static_cast<int>(std::min(1.0 * micro_batches_, 1 + after));
    if (sequence_.bytes(first, last, flying) > stage.memory * kRounding) continue;
    const double own = work + stage.reduction.seconds(sequence_.parameters(first, last));
    const bool final = last == layers();
    const double leave = final ? 0 : type.between.seconds(sequence_.crossing(last));
    const double stay = final ? kInfeasible : type.within.seconds(sequence_.crossing(last));
    segments.push_back({.last = last,
                        .alone = within(own + enter + leave),
                        .begins = within(own + enter + stay),
                        .ends = within(own + go_on + leave),
                        .inside = within(own + go_on + stay)});
  }
}

/// Extends the programme by a stage that begins at `first`:
///   fresh(layers) = 0
///   fresh(first) = min over last of
///       stage + fresh(last),                      alone in its node,
///       stage + inside(last, next(0)),            if the run goes on
///   inside(first, state) = min over last of
///       stage + fresh(last),                      if the run ends
///       stage + inside(last, next(state))
/// `stage` is its price and, with `counts_loads`, its load with the links of that case.
void PricedPaths::put_first(int first, const Group& group, double price, bool counts_loads) {
  const auto cost = [&](double load) {
    return load < kInfeasible && !counts_loads ? price : price + load;
  };
  const NodeStage& stage = stage_of(group);
  double& fresh = fresh_[first];
  double* const here = &inside(group.type, first, 0);
  double ending = kInfeasible;
  for (std::size_t i = group.begins[first]; i < group.begins[first + 1]; ++i) {
    const Segment& segment = group.segments[i];
    const double* const after = &inside(group.type, segment.last, 0);
    fresh = std::min(fresh, cost(segment.alone) + fresh_[segment.last]);
    ending = std::min(ending, cost(segment.ends) + fresh_[segment.last]);
    if (stage.begun > 0) fresh = std::min(fresh, cost(segment.begins) + after[stage.begun]);
    if (segment.inside == kInfeasible) continue;
    const double own = cost(segment.inside);
    for (const NodeMove& move : stage.moves)
      here[move.from] = std::min(here[move.from], own + after[move.to]);
  }
  for (const NodeMove& move : stage.moves) here[move.from] = std::min(here[move.from], ending);
}

/// A dynamic programme from the end of the layer sequence computes costs alone. The path is then
/// followed from the beginning.
PricedPath PricedPaths::cheapest(const std::vector<double>& prices, bool counts_loads) {
  std::ranges::fill(fresh_, kInfeasible);
  fresh_.back() = 0;
  for (auto& of_type : inside_) std::ranges::fill(of_type, kInfeasible);
  for (int first = layers() - 1; first >= 0; --first)
    for (const Group& group : groups_)
      put_first(first, group, prices[stage_of(group).kind], counts_loads);
  PricedPath path{.cost = fresh_.front(), .used = std::vector<int>(prices.size(), 0)};
  if (path.cost == kInfeasible) return path;
  for (Place place; place.first < layers();) place = after(place, prices, counts_loads, path.used);
  return path;
}

/// Returns the place after the cheapest stage at a place, and counts that stage's device in `used`.
PricedPaths::Place PricedPaths::after(const Place& place, const std::vector<double>& prices,
                                      bool counts_loads, std::vector<int>& used) {
  Place best;
  double min = kInfeasible;
  int kind = 0;
  for (const Group& group : groups_) {
    const NodeStage& stage = stage_of(group);
    if (place.state > 0 && group.type != place.type) continue;
    int next = stage.begun;
    if (place.state > 0) {
      const auto move = std::ranges::find(stage.moves, place.state, &NodeMove::from);
      if (move == stage.moves.end()) continue;
      next = move->to;
    }
    for (std::size_t i = group.begins[place.first]; i < group.begins[place.first + 1]; ++i) {
      const Segment& segment = group.segments[i];
      const auto offer = [&](double load, double rest, int state) {
        const double cost = prices[stage.kind] + (counts_loads ? load : 0) + rest;
        if (load == kInfeasible || cost >= min) return;
        min = cost;
        kind = stage.kind;
        best = {segment.last, group.type, state};
      };
      offer(place.state > 0 ? segment.ends : segment.alone, fresh_[segment.last], 0);
      if (next > 0)
        offer(place.state > 0 ? segment.inside : segment.begins,
              inside(group.type, segment.last, next), next);
    }
  }
  ++used[kind];
  return best;
}

}  // namespace penstock::partition
