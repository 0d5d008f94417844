#include "partition/placement/bound/run_bound.h"

#include <algorithm>

#include "partition/cut/limits.h"
#include "partition/placement/bound/run_count.h"

namespace penstock::partition {
namespace {

constexpr double kRoundedDown = 1 - 1e-12;
constexpr double kNearlyAsked = 1 - 2e-3;  // of prices' limits, which are found to a thousandth
constexpr int kSums = 4;                   // limits that least sums are asked for within
constexpr double kMost = 2e8;              // ways to put a stage in front of others, about

}  // namespace

/// Whether limited stages can be counted for every number of stages.
bool RunBound::can_count(const RunTableRequest& request, int replicas) const {
  const double layers = problem_.sequence.size();
  const double most_stages = std::min(layers, 1.0 * problem_.cluster.size() / replicas);
  double runs = 0;
  for (const StageClass& stage_class : request.classes)
    runs += request.runs[stage_class.run].capacity;
  const double ends = 2 * layers / most_stages + 2;  // of a stage that starts somewhere
  return most_stages * layers * ends * runs * (request.limited + 1) <= kMost;
}

/// The least slowest load of as many stages as there are devices for; at most the limit, and 0
/// where it would take too long.
double RunBound::slowest_of_any(const RunTableRequest& request, int replicas, std::size_t parting) {
  Known& known = slowest_of_any_[{parting, replicas}];
  if (known.asked >= request.limit || known.bound < known.asked)
    return std::min(known.bound, request.limit);
  RunCount count(problem_.sequence, request, problem_.cluster.size() / replicas);
  known.asked = request.limit;
  if (count.effort(request.limit) <= kMost)
    known.bound =
        count.least(std::max(known.bound, least_bottleneck(problem_, replicas)), request.limit);
  return known.bound;
}

/// Of any number of stages.
double RunBound::priced(int replicas, double value) {
  auto at = priced_.find(replicas);
  if (at == priced_.end())
    at = priced_.emplace(replicas, Priced{{problem_, replicas, effort_left_, time_}}).first;
  auto& [prices, known] = at->second;
  const bool stalled = known.bound < known.asked * kNearlyAsked;
  if (known.asked < value && !stalled && effort_left_ > 0) {
    prices.may_take(effort_left_);
    known = {.asked = value, .bound = std::max(known.bound, prices.below(value))};
    effort_left_ = prices.effort_left();
  }
  return std::min(known.bound, value);
}

double RunBound::of(const Grid& grid, double value) {
  double bound = 0;
  for (std::size_t parting = 0; parting < classes_.size() && bound < value; ++parting)
    bound = std::max(bound, of(grid, value, parting));
  return bound;
}

double RunBound::of(const Grid& grid, double value, std::size_t parting) {
  const Goal goal = goal_of(problem_, grid);
  DeviceClasses::Stages stages = classes_[parting].of(grid.replicas);
  RunTableRequest request{.runs = std::move(stages.runs),
                          .classes = std::move(stages.classes),
                          .limited = stages.limited,
                          .micro_batches = micro_batches_of(problem_, grid),
                          .stages = grid.stages,
                          .time = time_};
  double per_work = kNever;
  for (const StageClass& stage_class : request.classes)
    per_work = std::min(per_work, stage_class.per_work);
  double sum = problem_.sequence.work(0, problem_.sequence.size()) * per_work;
  const auto limit = [&] {
    return goal.slowest > 0 ? (value - goal.sum * sum) / goal.slowest : kNever;
  };
  request.limit = limit();
  double slowest = 0;
  // Where it takes too long to count limited stages, any number of them is allowed. Then more
  // pipelines are tried, and the least of them is still a bound.
  if (!can_count(request, grid.replicas)) {
    if (request.limit < kNever) slowest = slowest_of_any(request, grid.replicas, parting);
    request.limited = 0;
    for (StageClass& stage_class : request.classes) stage_class.limited = false;
  }
  slowest = std::max(slowest, RunTable(problem_.sequence, request).least(grid.stages));
  if (slowest == kNever) return value;
  request.sums = true;
  // No solution below `value` has a smaller sum than `sum`, so none has a stage slower than
  // limit(). The least sum within that limit is no larger than theirs, and takes the place of
  // `sum`.
  for (int round = 0; goal.sum > 0 && round < kSums; ++round) {
    request.limit = limit();
    const double least = RunTable(problem_.sequence, request).least(grid.stages);
    if (least == kNever) return value;
    if (least <= sum) break;
    sum = least;
  }
  return std::min(value, goal.value(sum, slowest) * kRoundedDown);
}

}  // namespace penstock::partition
