#include "partition/placement/search.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <utility>

#include "partition/cut/limits.h"
#include "partition/placement/bound/bound.h"
#include "partition/placement/bound/run_bound.h"
#include "partition/placement/exact/exact.h"
#include "partition/placement/heuristics/merge_rows.h"
#include "partition/placement/heuristics/pack_runs.h"
#include "partition/placement/infeasible_placement.h"

namespace penstock::partition {
namespace {

constexpr double kCloseEnough = 1 - 1e-3;           // of a bound: no search for the rest
constexpr double kFirstAim = 0.9, kAimStep = 0.02;  // of the best: what bounds rise to
constexpr int kExactSlots = 12;            // that are always placed exactly, if at all possible
constexpr int kMostSlots = 16;             // that are where devices are alike
constexpr int kPatience = 12;              // searches of larger grids that find nothing better
constexpr double kMergingEffort = 4e6;     // of all merges, a few seconds
constexpr std::size_t kEdges = 4'000'000;  // of a grid's graph, a few seconds
constexpr std::size_t kSharedEdges = 1'000'000;  // of all graphs with more slots

bool is_small(const Grid& grid) { return grid.slots() <= kMostSlots; }

struct Candidate {
  Grid grid;
  double bound = 0;
  bool quick = true;  // the bound: Bounds::quick()
};

struct Higher {
  bool operator()(const Candidate& a, const Candidate& b) const { return a.bound > b.bound; }
};

/// Every grid that the cluster has devices for.
std::vector<Candidate> candidates(const PlacementProblem& problem, const Bounds& bounds,
                                  const GridConstraints& constraints) {
  const int devices = problem.cluster.size();
  const int most = std::min({problem.sequence.size(), devices});
  std::vector<Candidate> result;
  for (int stages = 1; stages <= most; ++stages) {
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

class Search {
 public:
  Search(const PlacementProblem& problem, const Bounds& bounds, const GridConstraints& constraints,
         const SearchEffort& effort)
      : problem_(problem),
        bounds_(bounds),
        effort_(effort),
        merges_(constraints.stages == 0 && effort.moves > 0) {}

  /// Looks for good placements of the grids whose bounds are lowest, first. The bound of a grid
  /// that may be searched is made exact when its turn comes, and it is searched when it is lowest
  /// even so.
  void look(std::vector<Candidate> candidates) {
    std::priority_queue waiting(Higher(), std::move(candidates));
    // A grid is waiting, or in considered_, or has no solution below the value when its turn came.
    // Those that wait in the end have bounds no lower than the value.
    while (!waiting.empty() && waiting.top().bound < value() * kWorthwhile) {
      if (best_ && is_over(effort_.time)) {
        considered_.push_back(waiting.top());  // no other's bound is lower
        return;
      }
      const Candidate candidate = waiting.top();
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

  /// Looks for any placement, those grids first that take most devices.
  std::optional<PlacedSequence> any(std::vector<Candidate> candidates) {
    std::ranges::stable_sort(candidates, std::greater<>(),
                             [](const Candidate& candidate) { return candidate.grid.stages; });
    for (const Candidate& candidate : candidates) {
      if (best_ || is_over(effort_.time)) break;
      if (!bounds_.of(candidate.grid, kNever)) continue;
      auto found = search_placement(problem_, candidate.grid, effort_, 0);
      if (!found && is_small(candidate.grid))
        found =
            place_exactly(problem_, candidate.grid, {.edges = kEdges, .time = effort_.time}).best;
      if (found) keep(candidate.grid, std::move(*found));
    }
    return std::move(best_);
  }

  /// Sees to it that no placement of few slots is better.
  void prove() {
    std::ranges::stable_sort(considered_, {}, &Candidate::bound);
    std::size_t shared = kSharedEdges;
    // Bounds rise along the list, the value only falls: behind the first that can't win none can.
    for (Candidate& candidate : considered_) {
      if (candidate.bound >= value() * kWorthwhile || is_over(effort_.time)) return;
      if (!is_small(candidate.grid)) continue;
      const bool few = candidate.grid.slots() <= kExactSlots;
      auto exact =
          place_exactly(problem_, candidate.grid,
                        {.known = value(), .edges = few ? kEdges : shared, .time = effort_.time});
      if (!few) shared -= std::min(shared, exact.edges);
      if (exact.best) keep(candidate.grid, std::move(*exact.best));
      if (exact.proven) candidate.bound = kNever;
    }
  }

  /// The least bound of the grids that are not proven, raised as far as it can be.
  double bound() {
    RunBound runs(problem_, effort_.time);
    double most = value();  // of what it may be
    // Bounds only rise. One that falls short of its aim can rise no further: the others need to
    // reach no more. They rise by steps, so that none takes the time in which many could.
    for (;;) {
      const auto least = std::ranges::min_element(considered_, {}, &Candidate::bound);
      if (least == considered_.end()) return most;
      if (least->bound >= most * kWorthwhile) return most < value() ? least->bound : most;
      if (is_over(effort_.time)) return least->bound;
      const double aim = std::min(most, next_aim(least->bound));
      raise(*least, aim, most, runs);
      if (least->bound < aim * (aim < most ? kCloseEnough : kWorthwhile))
        most = std::min(most, least->bound);
    }
  }

  /// The best so far, without a bound.
  std::optional<PlacedSequence> best() { return std::move(best_); }
  double value() const { return best_ ? best_->value : kNever; }
  std::optional<PlacedSequence> finish() {
    if (best_) best_->bound = bound();
    return std::move(best_);
  }

 private:
  /// Pipelines with so many replicas, and as many stages as suit the layer sequence: where one
  /// layer alone bounds the bottleneck, the bounds of many grids are the same, and say nothing of
  /// which to search.
  void merge(int replicas) {
    const bool of_bottleneck = problem_.objective == Objective::bottleneck;
    double below = of_bottleneck ? value() : kNever;
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

  bool looks_at(const Grid& grid) const { return is_small(grid) || fruitless_ < kPatience; }

  void search(const Candidate& candidate) {
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

  /// The next of some values up to the best, to which a bound is to rise.
  double next_aim(double bound) const {
    double aim = kFirstAim;
    while (aim < 1 && bound >= aim * value() * kCloseEnough) aim += kAimStep;
    return std::min(aim, 1.0) * value();
  }

  /// By the quickest bounds first, until one reaches the aim. That on runs takes as long for all
  /// that the bound may become.
  void raise(Candidate& candidate, double aim, double most, RunBound& runs) const {
    const auto reaches = [&](double bound) {
      candidate.bound = std::max(candidate.bound, bound);
      return candidate.bound >= aim * kWorthwhile;
    };
    if (reaches(runs.priced(candidate.grid.replicas, aim))) return;
    if (std::exchange(candidate.quick, false) &&
        reaches(bounds_.of(candidate.grid, value()).value_or(kNever)))
      return;
    reaches(runs.of(candidate.grid, most));
  }

  void keep(const Grid& grid, PlacedCut found) {
    const double value = found.cut.value;
    if (value >= this->value() * kWorthwhile) return;
    best_ = PlacedSequence{grid, std::move(found.devices), std::move(found.cut), value};
  }

  const PlacementProblem& problem_;
  const Bounds& bounds_;
  const SearchEffort& effort_;
  std::optional<PlacedSequence> best_;
  std::vector<Candidate> considered_;
  bool merges_;           // where stages may be as many as suit the layer sequence
  std::set<int> merged_;  // replicas
  double merging_left_ = kMergingEffort;
  int fruitless_ = 0;  // searches since one found something better
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
