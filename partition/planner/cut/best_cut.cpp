#include "partition/planner/cut/best_cut.h"

#include <algorithm>
#include <cmath>

#include "partition/planner/cut/limits.h"
#include "partition/planner/cut/sweep.h"

namespace penstock::partition {
namespace {

double just_below(double limit) { return limit * kBetter; }

/// Returns the least bottleneck up to `highest`. Low limits are tried first, since they leave few
/// layers to try for each stage.
std::optional<double> min_slowest(const Sweep& sweep, double highest) {
  double step = 1.25;
  // Invariant: no cut keeps within the limits tried before. So the first limit that admits one
  // gives the least of all.
  for (double limit = 1.02 * sweep.floor_of_slowest();; limit *= step, step *= 1.25) {
    if (limit >= highest || limit == 0) return sweep.min_slowest(highest);
    if (const auto found = sweep.min_slowest(limit)) return found;
  }
}

/// Returns the cut with these first layers, with its loads and value.
Cut cut_at(const SequenceLoad& sequence, const std::vector<StageCost>& stages, const Goal& goal,
           std::vector<int> begin) {
  Cut cut{.begin = std::move(begin)};
  for (std::size_t k = 0; k < stages.size(); ++k) {
    const double load = stages[k].load(sequence, cut.begin[k], cut.begin[k + 1]);
    cut.sum += load;
    cut.slowest = std::max(cut.slowest, load);
  }
  cut.value = cut.bound = goal.value(cut.sum, cut.slowest);
  return cut;
}

}  // namespace

std::optional<Cut> best_cut(const SequenceLoad& sequence, const std::vector<StageCost>& stages,
                            const Goal& goal, const CutLimits& limits) {
  const Sweep sweep(sequence, stages);
  const double floor = sweep.floor_of_sum(), max = sweep.max();
  // Largest load with which the goal can be at most `value`, if loads add up to at least `sum`.
  const auto highest = [&](double value, double sum) {
    return goal.slowest > 0 ? std::min(max, (value - goal.sum * sum) / goal.slowest) : max;
  };
  if (highest(limits.value, floor) < 0) return std::nullopt;
  const auto slowest = min_slowest(sweep, highest(limits.value, floor));
  if (!slowest) return std::nullopt;

  std::optional<Cut> best;
  double known = limits.value, bound = kInfeasible;
  const auto try_limit = [&](double limit) {
    Cut cut = cut_at(sequence, stages, goal, *sweep.min_sum(limit));
    if (cut.value < known * kBetter) {
      best = cut;
      known = cut.value;
    }
    return cut;
  };
  const Cut first = try_limit(*slowest / kBetter);
  if (goal.sum == 0) return best;
  double limit = highest(known, floor);
  // Invariant: every cut better than `known` has loads of at most `limit`, and a largest load of at
  // least *slowest. The cut found has the least sum within the limit, so none as slow is better.
  for (int sweeps = 0; limit > first.slowest; ++sweeps) {
    const Cut cut = try_limit(limit);
    // Sums only grow under lower limits, so this bounds all cuts that are left.
    const double rest = goal.value(cut.sum, *slowest);
    if (rest >= known * kBetter) break;
    if (sweeps == limits.sweeps) {
      bound = rest;
      break;
    }
    limit = std::min(just_below(cut.slowest), highest(known, cut.sum));
  }
  if (best) best->bound = std::min(best->value, bound);
  return best;
}

}  // namespace penstock::partition
