#include "partition/planner/choose/sequence/choose_sequence.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "partition/planner/choose/choice_estimate.h"
#include "partition/planner/choose/proposals.h"
#include "partition/planner/cut/limits.h"
#include "partition/planner/placement/bound/bound.h"

namespace penstock::partition {
namespace {

constexpr double kNear = 1.3;         // other grids' bounds, as a multiple of the best closed form
constexpr std::size_t kMaxGrids = 5;  // beyond the best placement's own
constexpr int kProvenSlots = 16;      // largest grid that is placed exactly

/// Calls visit(grid) for every grid that the constraints allow.
template <class Visit>
void for_grids(const PlacementProblem& problem, const GridConstraints& constraints, Visit visit) {
  const int devices = problem.cluster.size();
  for (int stages = 1; stages <= std::min(problem.sequence.size(), devices); ++stages)
    for (int replicas = 1; replicas <= std::min(devices / stages, problem.micro_batches);
         ++replicas) {
      const bool fixed = (constraints.stages > 0 && stages != constraints.stages) ||
                         (constraints.replicas > 0 && replicas != constraints.replicas);
      if (!fixed) visit(Grid{stages, replicas});
    }
}

/// Returns the best placement's grid, then the others with near bounds, lowest first.
std::vector<Grid> near_grids(const PlacementProblem& problem, const GridConstraints& constraints,
                             const PlacedSequence& best) {
  const Bounds bounds(problem);
  std::vector<std::pair<double, Grid>> others;
  for_grids(problem, constraints, [&](const Grid& grid) {
    const double bound = bounds.quick(grid);
    if (grid != best.grid && bound < kNear * best.value && bounds.may_fit(grid))
      others.emplace_back(bound, grid);
  });
  std::ranges::stable_sort(others, {}, [](const auto& other) { return other.first; });
  std::vector<Grid> grids{best.grid};
  for (const auto& [bound, grid] : others)
    if (grids.size() <= kMaxGrids) grids.push_back(grid);
  return grids;
}

/// Returns `placed` with its closed form on the problem's links. It may come from free links.
PlacedSequence on_links(const PlacementProblem& problem, PlacedSequence placed) {
  const auto costs = stage_costs(problem, placed.devices);
  Cut& cut = placed.cut;
  cut.sum = cut.slowest = 0;
  for (int k = 0; k < placed.grid.stages; ++k) {
    const double load = costs[k].load(problem.sequence, cut.begin[k], cut.begin[k + 1]);
    cut.sum += load;
    cut.slowest = std::max(cut.slowest, load);
  }
  placed.value = cut.value = goal_of(problem, placed.grid).value(cut.sum, cut.slowest);
  return placed;
}

}  // namespace

std::vector<PlacedSequence> sequence_candidates(const PlacementProblem& problem,
                                                const SequenceProfile& profile,
                                                const GridConstraints& constraints,
                                                const SearchEffort& effort) {
  std::vector<PlacedSequence> found;
  if (auto best = find_placement(problem, constraints, effort)) found.push_back(std::move(*best));
  const bool weighs = problem.objective == Objective::step && problem.sequence.passes() > 1;
  if (found.empty() || !weighs) return found;
  if (sequence_steps({problem, found.front(), profile}).front().seconds == 0) return found;
  const double bound = found.front().bound;
  const PlacementProblem free = without_links(problem);
  for (const Grid& grid : near_grids(problem, constraints, found.front())) {
    SearchEffort own = effort;
    own.proves = grid.slots() <= kProvenSlots;
    for (const PlacementProblem* variant : {&problem, &free}) {
      if (is_over(effort.time)) return found;
      auto placed = find_placement(*variant, {grid.stages, grid.replicas}, own);
      if (!placed) continue;
      found.push_back(on_links(problem, std::move(*placed)));
      found.back().bound = std::min(bound, found.back().value);
    }
  }
  return found;
}

const PlacedSequence& choose_sequence(const PlacementProblem& problem,
                                      const SequenceProfile& profile,
                                      const std::vector<PlacedSequence>& candidates) {
  const PlacedSequence* best = &candidates.front();
  if (candidates.size() == 1) return *best;
  double min = 0;
  for (const PlacedSequence& candidate : candidates) {
    const SequenceStep step = sequence_steps({problem, candidate, profile}).front();
    if (!step.fits || step.seconds == 0) continue;
    if (min > 0 && step.seconds >= min * (1 - kSameStep)) continue;
    min = step.seconds;
    best = &candidate;
  }
  return *best;
}

double min_step(const PlacementProblem& problem, const SequenceProfile& profile,
                const GridConstraints& constraints) {
  std::vector<double> speeds, together{0};
  for (const Device& device : problem.cluster.devices) speeds.push_back(device.speed);
  std::ranges::sort(speeds, std::greater<>());
  for (const double speed : speeds) together.push_back(together.back() + speed);
  const SequenceLoad& sequence = problem.sequence;
  const double work = sequence.work(0, sequence.size());
  double min = kInfeasible;
  // No replica's runs · stage's work / device's speed is above the step. Summed over slots, this
  // bounds the step by all work over all speeds. A stage's slowest device has at least the fewest
  // runs of a replica, and of R devices one is no faster than the R-th fastest.
  for_grids(problem, constraints, [&](const Grid& grid) {
    double slowest = 0;
    for (int k = 0; k < grid.stages; ++k) slowest += speeds[(k + 1) * grid.replicas - 1];
    const int min_runs = problem.micro_batches / grid.replicas;
    const double even = problem.micro_batches * work / together[grid.slots()];
    const double longest =
        micro_batches_of(problem, grid) * sequence.longest_layer() / speeds.front();
    min = std::min(min, std::max({even, min_runs * work / slowest, longest}));
  });
  double there_and_back = 0;
  for (const LayerProfile& layer : profile.layers)
    there_and_back += (layer.forward_ms + layer.backward_ms / 2) / 1e3;
  return std::max(min, there_and_back / speeds.front());
}

}  // namespace penstock::partition
