#include "partition/placement/search.h"

#include <algorithm>
#include <limits>

#include "partition/placement/exact.h"
#include "partition/placement/refusal.h"

namespace penstock {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kWorthwhile = 1 - 1e-12;
constexpr double kCloseEnough = 1 - 1e-3;  // of a bound: no search for the rest
constexpr int kExactSlots = 12;            // with more, local search says how far it may be off
constexpr double kTries = 1e9;             // a few seconds

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

  void consider(const Candidate& candidate) {
    const auto bound = bounds_.of(candidate.grid, value());
    if (!bound || *bound >= value() * kWorthwhile) return;
    if (candidate.grid.slots() > kExactSlots && *bound >= value() * kCloseEnough) {
      bound_ = std::min(bound_, *bound);
      return;
    }
    double proven = *bound;
    if (auto found = search_placement(problem_, candidate.grid, effort_, *bound))
      keep(candidate.grid, std::move(*found));
    if (candidate.grid.slots() <= kExactSlots && proven < value() * kWorthwhile) {
      auto exact =
          place_exactly(problem_, bounds_, candidate.grid, {.known = value(), .tries = kTries});
      if (exact.best) keep(candidate.grid, std::move(*exact.best));
      if (exact.proven()) proven = value();
    }
    bound_ = std::min(bound_, proven);
  }

  double value() const { return best_ ? best_->value : kNever; }
  std::optional<PlacedChain> finish() {
    if (best_) best_->bound = std::min(bound_, best_->value);
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
  double bound_ = kNever;  // of all grids considered
  double tries_left_ = kTries;
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
