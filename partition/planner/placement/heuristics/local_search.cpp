#include "partition/planner/placement/heuristics/local_search.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "partition/planner/placement/heuristics/initial_solutions.h"

namespace penstock::partition {
namespace {

constexpr double kWorthAMove = 1 - 1e-9;  // a smaller relative gain counts as none
constexpr int kSweeps = 2;                // of best_cut(): devices move again after each
constexpr int kRounds = 4;                // of moving devices and cutting again
constexpr int kMovesAtOnce = 64;          // moves between two checks of the time
constexpr int kManySlots = 64;            // beyond, random starts never win

/// True if more search may still gain a thousandth.
bool promising(double value, double bound) { return value * (1 - 1e-3) > bound; }

/// A placement with a fixed cut. Its value is updated after every exchange of devices, which costs
/// the loads of the stages touched and of their neighbours.
class Exchange {
 public:
  Exchange(const PlacementProblem& problem, const Grid& grid, PlacedCut& placed)
      : problem_(problem), grid_(grid), goal_(goal_of(problem, grid)), placed_(placed) {
    std::vector<bool> used(problem.cluster.size(), false);
    for (const auto& stage : placed.devices)
      for (const int device : stage) used[device] = true;
    for (int device = 0; device < problem.cluster.size(); ++device)
      if (!used[device]) free_.push_back(device);
    loads_.resize(grid.stages);
    for (int k = 0; k < grid.stages; ++k) loads_[k] = load(k);
    value_ = value();
  }

  /// Tries one random exchange, and undoes it unless the value falls. Returns true if it was kept.
  bool try_one(std::mt19937_64& numbers) {
    const int a = first_slot(numbers);
    const int b = sample(numbers, grid_.slots() + static_cast<int>(free_.size()));
    const int first = a / grid_.replicas;
    if (b >= grid_.slots())
      return keep_if_better({first}, [&] { std::swap(device(a), free_[b - grid_.slots()]); });
    const int second = b / grid_.replicas;
    if (a == b) return false;
    if (first != second && numbers() % 4 == 0)
      return keep_if_better({first, second},
                            [&] { std::swap(placed_.devices[first], placed_.devices[second]); });
    return keep_if_better({first, second}, [&] { std::swap(device(a), device(b)); });
  }

 private:
  static int sample(std::mt19937_64& numbers, int below) {
    return static_cast<int>(numbers() % below);
  }
  /// Returns the first slot of an exchange. For the bottleneck it is mostly one of the slowest
  /// stage.
  int first_slot(std::mt19937_64& numbers) const {
    if (goal_.sum > 0 || numbers() % 4 == 0) return sample(numbers, grid_.slots());
    const auto slowest = std::ranges::max_element(loads_) - loads_.begin();
    return static_cast<int>(slowest) * grid_.replicas + sample(numbers, grid_.replicas);
  }
  int& device(int slot) { return placed_.devices[slot / grid_.replicas][slot % grid_.replicas]; }

  /// Returns the load of a stage; infinite if it does not fit into memory.
  double load(int k) const {
    const std::vector<int> nobody;
    const auto& devices = placed_.devices;
    const StageCost cost = stage_cost(problem_, grid_, k, k > 0 ? devices[k - 1] : nobody,
                                      devices[k], k + 1 < grid_.stages ? devices[k + 1] : nobody);
    const int first = placed_.cut.begin[k], last = placed_.cut.begin[k + 1];
    return cost.fits(problem_.sequence, first, last) ? cost.load(problem_.sequence, first, last)
                                                     : std::numeric_limits<double>::infinity();
  }
  double value() const {
    return goal_.value(std::accumulate(loads_.begin(), loads_.end(), 0.0),
                       *std::ranges::max_element(loads_));
  }

  /// Calls `swap`, and calls it again unless the value falls: it must be its own inverse.
  template <class Swap>
  bool keep_if_better(std::vector<int> stages, Swap swap) {
    // Invariant: before and after the call, loads_ and value_ are those of placed_. A stage's load
    // depends only on its own devices and those of both neighbours.
    swap();
    std::vector<int> touched;
    for (const int k : stages)
      for (int near = std::max(0, k - 1); near <= std::min(grid_.stages - 1, k + 1); ++near)
        if (std::ranges::count(touched, near) == 0) touched.push_back(near);
    std::vector<double> before;
    for (const int k : touched) {
      before.push_back(loads_[k]);
      loads_[k] = load(k);
    }
    const double now = value();
    if (now < value_ * kWorthAMove) {
      value_ = now;
      return true;
    }
    swap();
    for (std::size_t i = 0; i < touched.size(); ++i) loads_[touched[i]] = before[i];
    return false;
  }

  const PlacementProblem& problem_;
  Grid grid_;
  Goal goal_;
  PlacedCut& placed_;
  std::vector<int> free_;
  std::vector<double> loads_;
  double value_ = 0;
};

/// Moves devices, then the cut, until neither helps. `placed` never gets worse.
void improve(const PlacementProblem& problem, const Grid& grid, const SearchEffort& effort,
             double bound, std::mt19937_64& numbers, PlacedCut& placed) {
  // No more than there are different exchanges.
  const int moves =
      static_cast<int>(std::min<double>(effort.moves, 1.0 * grid.slots() * problem.cluster.size()));
  bool better = true;
  // Invariant: `placed` is the best so far; a round without a gain leaves it alone.
  for (int round = 0; better && round < kRounds && promising(placed.cut.value, bound); ++round) {
    PlacedCut moved = placed;
    Exchange exchange(problem, grid, moved);
    bool exchanged = false;
    for (int i = 0; i < moves && !(i % kMovesAtOnce == 0 && is_over(effort.time)); ++i)
      exchanged = exchange.try_one(numbers) || exchanged;
    if (!exchanged) return;
    const auto cut = best_cut(problem.sequence, stage_costs(problem, moved.devices),
                              goal_of(problem, grid), {.sweeps = kSweeps});
    better = cut && cut->value < placed.cut.value * kWorthAMove;
    if (better) placed = {std::move(moved.devices), *cut};
  }
}

/// Returns the best result of all starts.
std::optional<PlacedCut> search(const PlacementProblem& problem, const Grid& grid,
                                std::vector<Placement> starts, const SearchEffort& effort,
                                double bound) {
  std::optional<PlacedCut> best;
  std::mt19937_64 numbers(effort.seed);
  for (Placement& start : starts) {
    if (best && (!promising(best->cut.value, bound) || is_over(effort.time))) break;
    const auto cut = best_cut(problem.sequence, stage_costs(problem, start), goal_of(problem, grid),
                              {.sweeps = kSweeps});
    if (!cut) continue;
    PlacedCut placed{std::move(start), *cut};
    improve(problem, grid, effort, bound, numbers, placed);
    if (!best || placed.cut.value < best->cut.value) best = std::move(placed);
  }
  return best;
}

}  // namespace

std::optional<PlacedCut> search_placement(const PlacementProblem& problem, const Grid& grid,
                                          const SearchEffort& effort, double bound) {
  const int random = grid.slots() <= kManySlots ? effort.random_starts : 0;
  return search(problem, grid, initial_solutions(problem, grid, random, effort.seed), effort,
                bound);
}

std::optional<PlacedCut> search_from(const PlacementProblem& problem, Placement start,
                                     const SearchEffort& effort) {
  const Grid grid{static_cast<int>(start.size()), static_cast<int>(start.front().size())};
  return search(problem, grid, {std::move(start)}, effort, 0);
}

}  // namespace penstock::partition
