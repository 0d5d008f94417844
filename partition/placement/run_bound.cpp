#include "partition/placement/run_bound.h"

#include <algorithm>
#include <limits>

namespace penstock {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1 - 1e-12;
constexpr int kSums = 4;       // limits that least sums are asked for within
constexpr double kMost = 2e8;  // ways to put a stage in front of others, about

}  // namespace

/// Without the count of the fastest devices where that would take too long.
RunTableRequest RunBound::request(int replicas) const {
  BestSorts::Stages stages = sorts_.of(replicas);
  const double layers = problem_.chain.size();
  const double most_stages = std::min(layers, 1.0 * problem_.cluster.size() / replicas);
  double runs = 0;
  for (const StageSort& sort : stages.sorts) runs += sort.longest_run;
  const double ends = 2 * layers / most_stages + 2;  // of a stage that starts somewhere
  if (most_stages * layers * ends * runs * (stages.scarce + 1) > kMost) {
    stages.scarce = 0;
    for (StageSort& sort : stages.sorts) sort.scarce = false;
  }
  return {.sorts = std::move(stages.sorts),
          .scarce = stages.scarce,
          .micro_batches = micro_batches_of(problem_, {1, replicas})};
}

double RunBound::of(const Grid& grid) {
  const Goal goal = goal_of(problem_, grid);
  RunTableRequest request = this->request(grid.replicas);
  double per_work = kNever;
  for (const StageSort& sort : request.sorts) per_work = std::min(per_work, sort.per_work);
  double sum = problem_.chain.work(0, problem_.chain.size()) * per_work;
  const auto limit = [&] {
    return goal.slowest > 0 ? (value_ - goal.sum * sum) / goal.slowest : kNever;
  };
  request.limit = limit();
  const auto table = slowest_.try_emplace(grid.replicas, problem_.chain, request).first;
  const double slowest = table->second.least(grid.stages);
  if (slowest == kNever) return value_;
  request.sums = true;
  for (int round = 0; goal.sum > 0 && round < kSums; ++round) {
    request.limit = limit();
    const double least = RunTable(problem_.chain, request).least(grid.stages);
    if (least == kNever) return value_;
    if (least <= sum) break;
    sum = least;
  }
  return std::min(value_, goal.value(sum, slowest) * kRounding);
}

}  // namespace penstock
