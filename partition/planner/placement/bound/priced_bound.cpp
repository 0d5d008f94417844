#include "partition/planner/placement/bound/priced_bound.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "partition/planner/cut/limits.h"

namespace penstock::partition {
namespace {

constexpr int kPriceRounds = 60;  // of changes of prices, for one limit
// How far ahead of the best sum prices aim: at first, at the end, and the factor after a failure.
constexpr double kFarAhead = 0.05, kAhead = 1e-3, kSlower = 0.7;
constexpr double kMinPrice = 1e-6;     // least price of a kind's share, so that it may rise again
constexpr double kExceeds = 1 + 1e-9;  // absorbs rounding, so that it excludes nothing
constexpr double kPrecise = 1e-9;      // relative rounding of a sum and its prices, at most
constexpr double kPreciseLimit = 1 + 1e-3;  // precision of bisected limits
constexpr double kNearlyAsked = 1 - 2e-3;   // below this share of what was asked, a bound stalls
constexpr int kIntervals = 10;  // intervals of limits for which sums are computed, at most

/// Returns true if a mixture of two paths uses no more than each kind's share. If some replicas
/// take the one and some the other, devices suffice, so no prices can exclude the limit. Numbers
/// are parts of a share.
bool share_out(const std::vector<double>& one, const std::vector<double>& other) {
  double min = 0, max = 1;  // fraction of replicas on the other path
  for (std::size_t kind = 0; kind < one.size(); ++kind) {
    const double more = other[kind] - one[kind];  // one + part · more <= 1
    if (more == 0 && one[kind] > 1) return false;
    if (more > 0) max = std::min(max, (1 - one[kind]) / more);
    if (more < 0) min = std::max(min, (1 - one[kind]) / more);
  }
  return min <= max;
}

}  // namespace

PricedBound::PricedBound(const PlacementProblem& problem, int replicas, double effort,
                         const TimeLimit* time)
    : problem_(problem),
      replicas_(replicas),
      runs_(micro_batches_of(problem, {1, replicas})),
      time_(time),
      kinds_(problem.cluster),
      types_(node_types(problem, kinds_, replicas)),
      effort_left_(effort) {
  for (std::size_t kind = 0; kind < kinds_.speeds.size(); ++kind) {
    shares_.push_back(static_cast<double>(kinds_.devices[kind]) / replicas);
    share_prices_.push_back(shares_.back() * kinds_.speeds[kind]);
  }
  const double all = std::accumulate(share_prices_.begin(), share_prices_.end(), 0.0);
  for (double& price : share_prices_) price /= all;
  sum_prices_.assign(shares_.size(), 0);
}

PricedPaths PricedBound::paths(double limit) const {
  return {problem_.sequence, types_, runs_, limit};
}

/// Returns the devices that a path uses of each kind, as parts of a replica's share.
std::vector<double> PricedBound::parts(const PricedPath& path) const {
  std::vector<double> parts;
  for (std::size_t kind = 0; kind < shares_.size(); ++kind)
    parts.push_back(path.used[kind] / shares_[kind]);
  return parts;
}

/// Prices of whole shares add up to 1, so P = 1. Each round moves them along the subgradient, the
/// devices that the cheapest path uses. The step would make that path cost more than 1 if it stayed
/// the cheapest (Polyak 1969).
bool PricedBound::excludes(double limit) {
  PricedPaths paths = this->paths(limit);
  std::vector<std::vector<double>> known;
  for (int round = 0; round < kPriceRounds; ++round) {
    if (effort_left_ < 0 || is_over(time_)) return false;
    effort_left_ -= paths.effort();
    std::vector<double> prices;
    for (std::size_t kind = 0; kind < shares_.size(); ++kind)
      prices.push_back(share_prices_[kind] / shares_[kind]);
    const PricedPath path = paths.cheapest(prices, false);
    if (path.cost > kExceeds) return true;
    std::vector<double> used = parts(path);
    if (share_out(used, used) ||
        std::ranges::any_of(known, [&](const auto& other) { return share_out(used, other); }))
      return false;
    follow(used, 1 + kAhead - path.cost);
    known.push_back(std::move(used));
  }
  return false;
}

/// Moves prices of whole shares along the used parts, less their mean, which keeps the sum. Then it
/// normalises them. `more` is the gain in cost to aim at.
void PricedBound::follow(const std::vector<double>& used, double more) {
  const auto kinds = static_cast<double>(used.size());
  const double mean = std::accumulate(used.begin(), used.end(), 0.0) / kinds;
  double square = 0;
  for (const double part : used) square += (part - mean) * (part - mean);
  if (square == 0) return;
  double all = 0;
  for (std::size_t kind = 0; kind < used.size(); ++kind) {
    double& price = share_prices_[kind];
    price = std::max(price + more * (used[kind] - mean) / square, kMinPrice);
    all += price;
  }
  for (double& price : share_prices_) price /= all;
}

/// A subgradient method. Each step moves prices along the devices that the cheapest path uses
/// beyond its share. The step's length would reach a sum a little ahead of the best so far.
double PricedBound::min_sum(double limit) {
  PricedPaths paths = this->paths(limit);
  std::vector<double> prices = sum_prices_;
  double best = 0, ahead = kFarAhead;
  for (int round = 0; round < kPriceRounds && ahead > kAhead; ++round) {
    if (effort_left_ < 0 || is_over(time_)) break;
    effort_left_ -= paths.effort();
    const PricedPath path = paths.cheapest(prices, true);
    if (path.cost == kInfeasible) return kInfeasible;
    double sum = path.cost * (1 - kPrecise), square = 0;
    for (std::size_t kind = 0; kind < prices.size(); ++kind) {
      sum -= prices[kind] * shares_[kind];
      const double more = path.used[kind] - shares_[kind];
      if (more > 0 || prices[kind] > 0) square += more * more;
    }
    if (sum > best)
      sum_prices_ = prices;
    else
      ahead *= kSlower;
    best = std::max(best, sum);
    if (square == 0) break;
    const double step = (best * (1 + ahead) - sum) / square;
    for (std::size_t kind = 0; kind < prices.size(); ++kind)
      prices[kind] = std::max(0.0, prices[kind] + step * (path.used[kind] - shares_[kind]));
  }
  return best;
}

/// Returns the least limit that is not excluded, to a thousandth from below. It is at least `low`,
/// and `high` if that is excluded.
double PricedBound::min_slowest(double low, double high) {
  if (low >= high || excludes(high)) return high;
  while (high > low * kPreciseLimit && !is_over(time_)) {
    const double middle = (low + high) / 2;
    if (excludes(middle))
      low = middle;
    else
      high = middle;
  }
  return low;
}

/// Limits are divided into intervals. A solution whose slowest load is in an interval has at least
/// the least sum for the interval's end. The interval with the lowest resulting value is halved,
/// until its value reaches `value`, or it is narrow, or there are kIntervals.
double PricedBound::below(double value) {
  const Goal goal = goal_of(problem_, {1, replicas_});
  if (goal.slowest <= 0) return std::min(value, goal.sum * min_sum(value / goal.sum));
  const double min_work =
      problem_.sequence.work(0, problem_.sequence.size()) / kinds_.speeds.front();
  double highest = (value - goal.sum * min_work) / goal.slowest;
  const double slowest = min_slowest(min_bottleneck(problem_, replicas_), std::max(highest, 0.0));
  if (slowest >= highest) return value;
  if (goal.sum == 0) return std::min(value, goal.slowest * slowest);
  struct Interval {
    double begin, end, sum;
    double value(const Goal& goal) const { return goal.value(sum, begin); }
  };
  const double sum = min_sum(highest);
  std::vector<Interval> intervals{{slowest, highest, sum}};
  const auto min = [&] {
    return std::ranges::min_element(intervals, {},
                                    [&](const Interval& interval) { return interval.value(goal); });
  };
  while (std::ssize(intervals) < kIntervals) {
    Interval& interval = *min();
    if (interval.value(goal) >= value || interval.end < interval.begin * kPreciseLimit) break;
    const double middle = (interval.begin + interval.end) / 2;
    const Interval first{interval.begin, middle, std::max(interval.sum, min_sum(middle))};
    interval.begin = middle;
    intervals.push_back(first);
  }
  return std::min(value, min()->value(goal) * (1 - kPrecise));
}

double PricedBounds::below(int replicas, double value) {
  auto at = known_.find(replicas);
  if (at == known_.end())
    at = known_.emplace(replicas, Known{{problem_, replicas, effort_left_, time_}}).first;
  Known& known = at->second;
  const bool stalled = known.bound < known.asked * kNearlyAsked;
  if (known.asked < value && !stalled && effort_left_ > 0) {
    known.prices.may_take(effort_left_);
    known.asked = value;
    known.bound = std::max(known.bound, known.prices.below(value));
    effort_left_ = known.prices.effort_left();
  }
  return std::min(known.bound, value);
}

}  // namespace penstock::partition
