#include "partition/placement/search.h"

#include <algorithm>
#include <limits>

#include "partition/placement/bound.h"
#include "partition/placement/exact.h"
#include "partition/placement/refusal.h"

namespace penstock {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kWorthwhile = 1 - 1e-12;
constexpr double kCloseEnough = 1 - 1e-3;  // of a bound: no search for the rest
constexpr int kExactSlots = 12;            // with more, local search says how far it may be off

struct Candidate {
  Grid grid;
  double bound = 0;
};

/// Every grid that the cluster has devices for, the lowest bound first.
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
  std::ranges::stable_sort(result, {}, &Candidate::bound);
  return result;
}

class Search {
 public:
  Search(const PlacementProblem& problem, const Bounds& bounds, const SearchEffort& effort)
      : problem_(problem), bounds_(bounds), effort_(effort) {}

  /// Looks for a good placement of a grid that may be better than the best known.
  void consider(const Candidate& candidate) {
    const auto bound = bounds_.of(candidate.grid, value());
    if (!bound || *bound >= value() * kWorthwhile) return;
    const bool few = candidate.grid.slots() <= kExactSlots;
    if (few || *bound < value() * kCloseEnough)
      if (auto found = search_placement(problem_, candidate.grid, effort_, *bound))
        keep(candidate.grid, std::move(*found));
    if (few)
      unproven_.push_back({candidate.grid, *bound});
    else
      bound_ = std::min(bound_, *bound);
  }

  /// Sees to it that no placement of few slots is better.
  void prove() {
    std::ranges::stable_sort(unproven_, {}, &Candidate::bound);
    for (const auto& [grid, bound] : unproven_) {
      if (bound >= value() * kWorthwhile) return;
      auto exact = place_exactly(problem_, grid, {.known = value()});
      if (exact.best) keep(grid, std::move(*exact.best));
      if (!exact.proven) bound_ = std::min(bound_, bound);
    }
  }

  double value() const { return best_ ? best_->value : kNever; }
  std::optional<PlacedChain> finish() {
    if (best_) best_->bound = bound_ < best_->value * kWorthwhile ? bound_ : best_->value;
    return std::move(best_);
  }

 private:
  void keep(const Grid& grid, PlacedCut found) {
    const double value = found.cut.value;
    if (value >= this->value() * kWorthwhile) return;
    best_ = PlacedChain{grid, std::move(found.devices), std::move(found.cut), value};
  }

  const PlacementProblem& problem_;
  const Bounds& bounds_;
  const SearchEffort& effort_;
  std::optional<PlacedChain> best_;
  std::vector<Candidate> unproven_;
  double bound_ = kNever;  // of the grids that are not proven
};

}  // namespace

std::optional<PlacedChain> find_placement(const PlacementProblem& problem, const GridWish& wish,
                                          const SearchEffort& effort) {
  const Bounds bounds(problem);
  Search search(problem, bounds, effort);
  for (const Candidate& candidate : candidates(problem, bounds, wish)) {
    if (candidate.bound >= search.value() * kWorthwhile) break;
    search.consider(candidate);
  }
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
