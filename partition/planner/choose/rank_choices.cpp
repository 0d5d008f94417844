#include "partition/planner/choose/rank_choices.h"

#include <algorithm>
#include <limits>

#include "partition/planner/choose/cut_choice.h"
#include "partition/planner/choose/proposals.h"
#include "partition/planner/placement/ranking.h"
#include "partition/planner/placement/symmetry.h"

namespace penstock::partition {
namespace {

constexpr std::size_t kSimulated = 4;    // placements to simulate, as a multiple of those wanted
constexpr std::size_t kMin = 64;         // placements to simulate, at least
constexpr std::size_t kMinRefined = 12;  // placements to refine, at least
constexpr std::size_t kMaxRefined = 64;

}  // namespace

std::vector<RankedChoice> rank_choices(const PlanningProblem& problem, const PlanChoice& like,
                                       std::size_t count) {
  Workloads workloads(problem);
  const Workload& workload = workloads.of(like.batch, like.replicas, like.selective);
  PlacementProblem closed = closed_form_problem(problem, workload, like.batch);
  // No limits here: cut_choice() checks memory, by the runtime's bytes.
  for (Device& device : closed.cluster.devices)
    device.memory = std::numeric_limits<double>::infinity();
  RankingOptions options{.count = std::max(kMin, kSimulated * count)};
  options.effort.seed = problem.seed;
  options.effort.time = problem.time;

  const bool free = !problem.recomputed && !like.recomputed.empty();
  const Recomputing recomputing = free ? Recomputing::free : Recomputing::as_chosen;

  const Symmetry symmetry(problem.cluster);
  const Placement own = like.begin.empty() ? Placement() : symmetry.canonical(like.devices);
  std::vector<RankedChoice> ranked;
  if (!like.begin.empty()) ranked.push_back({like, estimate_choice(problem, workload, like)});
  for (PlacedCut& placed : rank_placements(closed, {like.stages, like.replicas}, options)) {
    if (!ranked.empty() && is_over(problem.time)) break;
    if (!like.begin.empty() && symmetry.canonical(placed.devices) == own) continue;
    PlanChoice choice = like;
    choice.devices = std::move(placed.devices);
    ChosenCut cut = cut_choice(problem, workload, choice, recomputing);
    if (!cut.fits) continue;
    choice.begin = std::move(cut.begin);
    choice.recomputed = std::move(cut.recomputed);
    choice.recompute_exact = cut.recompute_exact;
    ranked.push_back({choice, estimate_choice(problem, workload, choice)});
  }
  const auto seconds = [](const RankedChoice& one) { return one.estimate.step_seconds; };
  std::ranges::stable_sort(ranked, {}, seconds);
  ranked.resize(std::min(ranked.size(), std::max(count, kMinRefined)));
  const auto behind =
      ranked.begin() + static_cast<std::ptrdiff_t>(std::min(ranked.size(), kMaxRefined));
  const std::vector<RankedChoice> rest(behind, ranked.end());
  ranked.erase(behind, ranked.end());
  const ChoiceRefiner refiner(problem, workload);
  for (RankedChoice& one : ranked) refiner.refine_cut(one);
  std::ranges::stable_sort(ranked, {}, seconds);
  refiner.share_cuts(ranked);
  ranked.insert(ranked.end(), rest.begin(), rest.end());
  std::ranges::stable_sort(ranked, {}, seconds);
  ranked.resize(std::min(ranked.size(), count));
  return ranked;
}

}  // namespace penstock::partition
