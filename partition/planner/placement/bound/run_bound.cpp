#include "partition/planner/placement/bound/run_bound.h"

#include <algorithm>

#include "partition/planner/cut/limits.h"
#include "partition/planner/placement/bound/run_count.h"

namespace penstock::partition {
namespace {

constexpr double kRoundedDown = 1 - 1e-12;  // absorbs rounding, so that the bound stays valid
constexpr double kNearlyAsked = 1 - 2e-3;   // below this share of its aim, a bound has stalled
constexpr int kSums = 4;                    // rounds of lowering the limit of least sums
constexpr double kMax = 2e8;                // steps of a programme, about

}  // namespace

/// Returns true if a RunTable that counts limited stages is small enough.
bool RunBound::can_count(const RunTableRequest& request, int replicas) const {
  const double layers = problem_.sequence.size();
  const double max_stages = std::min(layers, 1.0 * problem_.cluster.size() / replicas);
  double runs = 0;
  for (const StageClass& stage_class : request.classes)
    runs += request.runs[stage_class.run].capacity;
  const double ends = 2 * layers / max_stages + 2;  // of a stage that starts somewhere
  return max_stages * layers * ends * runs * (request.limited + 1) <= kMax;
}

/// Returns a lower bound on the bottleneck for any number of stages (RunCount). It is at most the
/// limit, and 0 if it would take too long.
double RunBound::slowest_of_any(const RunTableRequest& request, int replicas, std::size_t parting) {
  Cache& known = slowest_of_any_[{parting, replicas}];
  if (known.asked >= request.limit || known.bound < known.asked)
    return std::min(known.bound, request.limit);
  RunCount count(problem_.sequence, request, problem_.cluster.size() / replicas);
  known.asked = request.limit;
  if (count.effort(request.limit) <= kMax)
    known.bound =
        count.min(std::max(known.bound, min_bottleneck(problem_, replicas)), request.limit);
  return known.bound;
}

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

/// The bound by one division of the devices into classes. It combines the least bottleneck with the
/// least sum of loads within a limit, which is lowered up to kSums times.
double RunBound::of(const Grid& grid, double value, std::size_t parting) {
  const Goal goal = goal_of(problem_, grid);
  DeviceClasses::Stages stages = classes_[parting].of(grid.replicas);
  RunTableRequest request{.runs = std::move(stages.runs),
                          .classes = std::move(stages.classes),
                          .limited = stages.limited,
                          .micro_batches = micro_batches_of(problem_, grid),
                          .stages = grid.stages,
                          .time = time_};
  double per_work = kInfeasible;
  for (const StageClass& stage_class : request.classes)
    per_work = std::min(per_work, stage_class.per_work);
  double sum = problem_.sequence.work(0, problem_.sequence.size()) * per_work;
  const auto limit = [&] {
    return goal.slowest > 0 ? (value - goal.sum * sum) / goal.slowest : kInfeasible;
  };
  request.limit = limit();
  double slowest = 0;
  // If counting limited stages takes too long, any number of them is allowed. That admits more
  // pipelines, so their minimum is still a lower bound.
  if (!can_count(request, grid.replicas)) {
    if (request.limit < kInfeasible) slowest = slowest_of_any(request, grid.replicas, parting);
    request.limited = 0;
    for (StageClass& stage_class : request.classes) stage_class.limited = false;
  }
  slowest = std::max(slowest, RunTable(problem_.sequence, request).min(grid.stages));
  if (slowest == kInfeasible) return value;
  request.sums = true;
  // Invariant: no solution below `value` has a smaller sum than `sum`, so none has a stage slower
  // than limit(). The least sum within that limit is no larger than theirs, so it replaces `sum`.
  for (int round = 0; goal.sum > 0 && round < kSums; ++round) {
    request.limit = limit();
    const double min = RunTable(problem_.sequence, request).min(grid.stages);
    if (min == kInfeasible) return value;
    if (min <= sum) break;
    sum = min;
  }
  return std::min(value, goal.value(sum, slowest) * kRoundedDown);
}

}  // namespace penstock::partition
