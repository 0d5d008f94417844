#include "partition/planner/placement/search.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <utility>

#include "partition/planner/cut/limits.h"
#include "partition/planner/placement/bound/bound.h"
#include "partition/planner/placement/bound/priced_bound.h"
#include "partition/planner/placement/exact/exact.h"
#include "partition/planner/placement/heuristics/merge_rows.h"
#include "partition/planner/placement/heuristics/pack_runs.h"
#include "partition/planner/placement/infeasible_placement.h"

namespace penstock::partition {
namespace {

constexpr double kCloseEnough = 1 - 1e-3;           // a smaller relative gain is not worth a search
constexpr double kFirstAim = 0.9, kAimStep = 0.02;  // aims of bounds, as a share of the value
constexpr int kExactSlots = 12;            // grids up to this size are placed exactly, if possible
constexpr int kMaxSlots = 16;              // grids up to this size are, if their graphs are small
constexpr int kPatience = 12;              // searches of larger grids in a row without a gain
constexpr double kMergingEffort = 4e6;     // total of merging_effort(): a few seconds
constexpr std::size_t kEdges = 4'000'000;  // of one grid's graph: a few seconds
constexpr std::size_t kSharedEdges = 1'000'000;  // of all graphs beyond kExactSlots together

bool is_small(const Grid& grid) { return grid.slots() <= kMaxSlots; }

/// A grid with a lower bound on its value.
struct PlacementCandidate {
  Grid grid;
  double bound = 0;
  bool quick = true;  // `bound` is Bounds::quick()
};

/// Orders a priority queue by the lowest bound.
struct Higher {
  bool operator()(const PlacementCandidate& a, const PlacementCandidate& b) const {
    return a.bound > b.bound;
  }
};

/// Returns all grids for which the cluster has devices and memory.
std::vector<PlacementCandidate> candidates(const PlacementProblem& problem, const Bounds& bounds,
                                           const GridConstraints& constraints) {
  const int devices = problem.cluster.size();
  const int max = std::min({problem.sequence.size(), devices});
  std::vector<PlacementCandidate> result;
  for (int stages = 1; stages <= max; ++stages) {
    if (constraints.stages > 0 && stages != constraints.stages) continue;
    for (int replicas = 1; replicas <= std::min(devices / stages, problem.micro_batches);
         ++replicas) {
      if (constraints.replicas > 0 && replicas != constraints.replicas) continue;
      const Grid grid{stages, replicas};
      if (bounds.may_fit(grid)) result.push_back({grid, bounds.quick(grid)});
    }
  }
  return result;
}

// A best-first branch and bound over grids. look() searches grids by heuristics in the order of
// their bounds, until no bound is below the value. prove() then places small grids exactly. bound()
// raises the bounds of the remaining grids. Invariant: the value of every placement
// is at least the best value, or at least the bound of a grid in considered_.
class Search {
 public:
  Search(const PlacementProblem& problem, const Bounds& bounds, const GridConstraints& constraints,
         const SearchEffort& effort)
      : problem_(problem),
        bounds_(bounds),
        effort_(effort),
        merges_(constraints.stages == 0 && effort.moves > 0) {}

  /// Searches grids in the order of their bounds. When a grid comes first by its quick bound, the
  /// bound is tightened (Bounds::of), and the grid is put back. It is searched when it comes first
  /// again.
  void look(std::vector<PlacementCandidate> candidates) {
    std::priority_queue waiting(Higher(), std::move(candidates));
    // Invariant: each grid waits, is in considered_, or had no solution below the value when it was
    // taken. Grids that still wait at the end have bounds no lower than the value.
    while (!waiting.empty() && waiting.top().bound < value() * kBetter) {
      if (best_ && is_over(effort_.time)) {
        considered_.push_back(waiting.top());  // no other's bound is lower
        return;
      }
      const PlacementCandidate candidate = waiting.top();
      waiting.pop();
      if (candidate.quick && looks_at(candidate.grid)) {
        const auto bound = bounds_.of(candidate.grid, value());
        if (!bound) continue;
        waiting.push({candidate.grid, *bound, false});
        continue;
      }
      search(candidate);
      considered_.push_back(candidate);
    }
  }

  /// Returns the first placement found that fits. Grids with the most stages come first.
  std::optional<PlacedSequence> any(std::vector<PlacementCandidate> candidates) {
    std::ranges::stable_sort(candidates, std::greater<>(), [](const PlacementCandidate& candidate) {
      return candidate.grid.stages;
    });
    for (const PlacementCandidate& candidate : candidates) {
      if (best_ || is_over(effort_.time)) break;
      if (!bounds_.of(candidate.grid, kInfeasible)) continue;
      auto found = search_placement(problem_, candidate.grid, effort_, 0);
      if (!found && is_small(candidate.grid))
        found =
            place_exactly(problem_, candidate.grid, {.edges = kEdges, .time = effort_.time}).best;
      if (found) keep(candidate.grid, std::move(*found));
    }
    return std::move(best_);
  }

  /// Places small grids exactly whose bounds are below the value.
  void prove() {
    std::ranges::stable_sort(considered_, {}, &PlacementCandidate::bound);
    std::size_t shared = kSharedEdges;
    // Bounds rise along the list, and the value only falls. So after the first grid that can't win,
    // none can.
    for (PlacementCandidate& candidate : considered_) {
      if (candidate.bound >= value() * kBetter || is_over(effort_.time)) return;
      if (!is_small(candidate.grid)) continue;
      const bool few = candidate.grid.slots() <= kExactSlots;
      auto exact =
          place_exactly(problem_, candidate.grid,
                        {.known = value(), .edges = few ? kEdges : shared, .time = effort_.time});
      if (!few) shared -= std::min(shared, exact.edges);
      if (exact.best) keep(candidate.grid, std::move(*exact.best));
      if (exact.proven) candidate.bound = kInfeasible;
    }
  }

  /// Returns the least bound of the grids that are not proven, raised as far as possible.
  double bound() {
    PricedBounds prices(problem_, effort_.time);
    double max = value();  // the result is at most this
    // Bounds only rise. One that misses its aim can rise no further, so the others need not rise
    // above it. All rise in small steps, lest one takes the time in which many could rise.
    for (;;) {
      const auto min = std::ranges::min_element(considered_, {}, &PlacementCandidate::bound);
      if (min == considered_.end()) return max;
      if (min->bound >= max * kBetter) return max < value() ? min->bound : max;
      if (is_over(effort_.time)) return min->bound;
      const double aim = std::min(max, next_aim(min->bound));
      raise(*min, aim, prices);
      if (min->bound < aim * (aim < max ? kCloseEnough : kBetter)) max = std::min(max, min->bound);
    }
  }

  /// Returns the best placement so far, without a bound.
  std::optional<PlacedSequence> best() { return std::move(best_); }
  double value() const { return best_ ? best_->value : kInfeasible; }
  /// Returns the best placement so far, with its bound.
  std::optional<PlacedSequence> finish() {
    if (best_) best_->bound = bound();
    return std::move(best_);
  }

 private:
  /// Runs the heuristics that choose the number of stages themselves. They help where one layer
  /// alone bounds the bottleneck: then many grids have equal bounds, which do not show which to
  /// search.
  void merge(int replicas) {
    const bool of_bottleneck = problem_.objective == Objective::bottleneck;
    double below = of_bottleneck ? value() : kInfeasible;
    std::optional<PlacedCut> found;
    if (of_bottleneck && replicas == 1)
      found = pack_runs(problem_, below, effort_.seed, effort_.time);
    if (found) below = found->cut.slowest * kCloseEnough;
    const double effort = merging_effort(problem_, replicas);
    if (effort <= merging_left_) {
      merging_left_ -= effort;
      if (auto merged = merge_rows(problem_, replicas, below, effort_.time))
        found = std::move(merged);
    }
    if (!found) return;
    const Grid grid{static_cast<int>(found->devices.size()), replicas};
    if (auto improved = search_from(problem_, std::move(found->devices), effort_))
      keep(grid, std::move(*improved));
  }

  /// True if the grid is small, or large grids are still searched.
  bool looks_at(const Grid& grid) const { return is_small(grid) || fruitless_ < kPatience; }

  /// Searches one grid by heuristics, and keeps a better placement.
  void search(const PlacementCandidate& candidate) {
    const bool large = !is_small(candidate.grid);
    if (!looks_at(candidate.grid) || (large && candidate.bound >= value() * kCloseEnough)) return;
    const double before = value();
    if (merges_ && large && merged_.insert(candidate.grid.replicas).second)
      merge(candidate.grid.replicas);
    if (auto found = search_placement(problem_, candidate.grid, effort_, candidate.bound))
      keep(candidate.grid, std::move(*found));
    if (value() < before)
      fruitless_ = 0;
    else if (large)
      ++fruitless_;
  }

  /// Returns the next value, up to the best one, to which a bound should be raised.
  double next_aim(double bound) const {
    double aim = kFirstAim;
    while (aim < 1 && bound >= aim * value() * kCloseEnough) aim += kAimStep;
    return std::min(aim, 1.0) * value();
  }

  /// Raises a bound towards the aim: by prices, which serve every number of stages, and once by
  /// Bounds::of(), if that was not asked before.
  void raise(PlacementCandidate& candidate, double aim, PricedBounds& prices) const {
    const auto reaches = [&](double bound) {
      candidate.bound = std::max(candidate.bound, bound);
      return candidate.bound >= aim * kBetter;
    };
    if (reaches(prices.below(candidate.grid.replicas, aim))) return;
    if (std::exchange(candidate.quick, false))
      reaches(bounds_.of(candidate.grid, value()).value_or(kInfeasible));
  }

  /// Takes a placement as the best if its value is lower.
  void keep(const Grid& grid, PlacedCut found) {
    const double value = found.cut.value;
    if (value >= this->value() * kBetter) return;
    best_ = PlacedSequence{grid, std::move(found.devices), std::move(found.cut), value};
  }

  const PlacementProblem& problem_;
  const Bounds& bounds_;
  const SearchEffort& effort_;
  std::optional<PlacedSequence> best_;
  std::vector<PlacementCandidate> considered_;
  bool merges_;           // merge() is allowed: the number of stages is free
  std::set<int> merged_;  // numbers of replicas for which merge() ran
  double merging_left_ = kMergingEffort;
  int fruitless_ = 0;  // large searches since the last gain
};

}  // namespace

std::optional<PlacedSequence> find_placement(const PlacementProblem& problem,
                                             const GridConstraints& constraints,
                                             const SearchEffort& effort) {
  const Bounds bounds(problem);
  Search search(problem, bounds, constraints, effort);
  search.look(candidates(problem, bounds, constraints));
  if (!effort.proves) return search.best();
  search.prove();
  return search.finish();
}

std::optional<PlacedSequence> find_any_placement(const PlacementProblem& problem,
                                                 const GridConstraints& constraints,
                                                 const TimeLimit* time) {
  const Bounds bounds(problem);
  const SearchEffort effort{.random_starts = 0, .moves = 0, .time = time};
  return Search(problem, bounds, constraints, effort).any(candidates(problem, bounds, constraints));
}

PlacedSequence place_sequence(const PlacementProblem& problem, const GridConstraints& constraints,
                              const SearchEffort& effort) {
  check_constraints(problem, constraints);
  auto found = find_placement(problem, constraints, effort);
  if (!found) throw_infeasible_placement(problem, constraints, effort.time);
  return std::move(*found);
}

}  // namespace penstock::partition
