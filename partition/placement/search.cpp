#include "partition/placement/search.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <set>

#include "partition/placement/bound.h"
#include "partition/placement/exact.h"
#include "partition/placement/refusal.h"
#include "partition/placement/run_bound.h"

namespace penstock {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kWorthwhile = 1 - 1e-12;
constexpr double kCloseEnough = 1 - 1e-3;  // of a bound: no search for the rest
constexpr int kExactSlots = 12;            // that are always placed exactly, if at all possible
constexpr int kMostSlots = 16;             // that are where devices are alike
constexpr int kGlances = 24;               // at numbers of stages, evenly apart
constexpr int kPatience = 12;              // searches of larger grids that find nothing better
constexpr int kBottleneckPatience = 36;  // where it is for the bottleneck, of which bounds say less
constexpr std::size_t kEdges = 4'000'000;        // of a grid's graph, a few seconds
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
                                  const GridWish& wish) {
  const int devices = problem.cluster.size();
  const int most = std::min({problem.chain.size(), devices});
  std::vector<Candidate> result;
  for (int stages = 1; stages <= most; ++stages) {
    if (wish.stages > 0 && stages != wish.stages) continue;
    for (int replicas = 1; replicas <= std::min(devices / stages, problem.micro_batches);
         ++replicas) {
      if (wish.replicas > 0 && replicas != wish.replicas) continue;
      const Grid grid{stages, replicas};
      result.push_back({grid, bounds.quick(grid)});
    }
  }
  return result;
}

class Search {
 public:
  Search(const PlacementProblem& problem, const Bounds& bounds, const SearchEffort& effort)
      : problem_(problem), bounds_(bounds), effort_(effort) {
    if (problem.objective == Objective::bottleneck) patience_ = kBottleneckPatience;
  }

  /// Looks for good placements of the grids whose bounds are lowest, first. A grid's bound is made
  /// exact when its turn comes, and it is searched when it is lowest even so.
  void look(std::vector<Candidate> candidates) {
    std::priority_queue waiting(Higher(), std::move(candidates));
    while (!waiting.empty() && waiting.top().bound < value() * kWorthwhile) {
      const Candidate candidate = waiting.top();
      waiting.pop();
      if (candidate.quick) {
        const auto bound = bounds_.of(candidate.grid, value());
        if (!bound) continue;
        waiting.push({candidate.grid, *bound, false});
        continue;
      }
      search(candidate);
      considered_.push_back(candidate);
    }
  }

  /// Looks at some grids without moving devices: where one layer alone bounds the bottleneck, the
  /// bounds of many grids are the same, and say nothing of which to search.
  void glance(const std::vector<Candidate>& candidates) {
    std::set<int> looked;  // stages of one replica
    for (int of = 1; of <= kGlances; ++of) {
      const auto at = std::ranges::find_if(candidates, [&](const Candidate& candidate) {
        return candidate.grid.replicas == 1 &&
               candidate.grid.stages >= candidates.back().grid.stages * of / kGlances;
      });
      if (at == candidates.end() || is_small(at->grid) || !looked.insert(at->grid.stages).second)
        continue;
      if (auto found = search_placement(problem_, at->grid, {.random_starts = 0, .moves = 0}, 0))
        keep(at->grid, std::move(*found));
    }
    if (best_) search({.grid = best_->grid});
  }

  /// Sees to it that no placement of few slots is better.
  void prove() {
    std::ranges::stable_sort(considered_, {}, &Candidate::bound);
    std::size_t shared = kSharedEdges;
    for (Candidate& candidate : considered_) {
      if (candidate.bound >= value() * kWorthwhile) return;
      if (!is_small(candidate.grid)) continue;
      const bool few = candidate.grid.slots() <= kExactSlots;
      auto exact = place_exactly(problem_, candidate.grid,
                                 {.known = value(), .edges = few ? kEdges : shared});
      if (!few) shared -= std::min(shared, exact.edges);
      if (exact.best) keep(candidate.grid, std::move(*exact.best));
      if (exact.proven) candidate.bound = kNever;
    }
  }

  /// The least bound of the grids that are not proven, raised as far as it can be.
  double bound() {
    RunBound runs(problem_, value());
    std::vector<bool> raised(considered_.size(), false);
    for (;;) {
      const auto least = std::ranges::min_element(considered_, {}, &Candidate::bound);
      if (least == considered_.end() || least->bound >= value() * kWorthwhile) return value();
      if (raised[least - considered_.begin()]) return least->bound;
      raised[least - considered_.begin()] = true;
      least->bound = std::max(least->bound, runs.of(least->grid));
    }
  }

  double value() const { return best_ ? best_->value : kNever; }
  std::optional<PlacedChain> finish() {
    if (best_) best_->bound = bound();
    return std::move(best_);
  }

 private:
  void search(const Candidate& candidate) {
    const bool large = !is_small(candidate.grid);
    if (large && (candidate.bound >= value() * kCloseEnough || fruitless_ >= patience_)) return;
    const double before = value();
    if (auto found = search_placement(problem_, candidate.grid, effort_, candidate.bound))
      keep(candidate.grid, std::move(*found));
    fruitless_ = value() < before ? 0 : fruitless_ + 1;
  }

  void keep(const Grid& grid, PlacedCut found) {
    const double value = found.cut.value;
    if (value >= this->value() * kWorthwhile) return;
    best_ = PlacedChain{grid, std::move(found.devices), std::move(found.cut), value};
  }

  const PlacementProblem& problem_;
  const Bounds& bounds_;
  const SearchEffort& effort_;
  std::optional<PlacedChain> best_;
  std::vector<Candidate> considered_;
  int patience_ = kPatience;
  int fruitless_ = 0;  // searches since one found something better
};

}  // namespace

std::optional<PlacedChain> find_placement(const PlacementProblem& problem, const GridWish& wish,
                                          const SearchEffort& effort) {
  const Bounds bounds(problem);
  Search search(problem, bounds, effort);
  const std::vector<Candidate> all = candidates(problem, bounds, wish);
  if (problem.objective == Objective::bottleneck) search.glance(all);
  search.look(all);
  search.prove();
  return search.finish();
}

PlacedChain place_chain(const PlacementProblem& problem, const GridWish& wish,
                        const SearchEffort& effort) {
  check_wish(problem, wish);
  auto found = find_placement(problem, wish, effort);
  if (!found) refuse_placement(problem, wish);
  return std::move(*found);
}

}  // namespace penstock
