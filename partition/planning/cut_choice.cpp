#include "partition/planning/cut_choice.h"

#include <algorithm>

#include "partition/planning/cut_chunks.h"
#include "partition/planning/forecast.h"
#include "partition/planning/proposals.h"
#include "partition/planning/recompute_search.h"
#include "partition/planning/stage_memory.h"

namespace penstock {
namespace {

std::vector<double> forward_seconds(const Workload& workload) {
  std::vector<double> seconds;
  for (const LayerProfile& layer : workload.mean.layers) seconds.push_back(1e-3 * layer.forward_ms);
  return seconds;
}

/// What chunks have to do so that they fit: nothing, or run layers forward again.
class Fitting {
 public:
  Fitting(const PlanningProblem& problem, const Workload& workload, const PlanChoice& choice,
          Recomputing recomputing)
      : memory(problem, without_recomputation(choice, recomputing)),
        layers_(problem.chain->size()),
        free_(recomputing == Recomputing::free),
        search_(memory.bytes(), forward_seconds(workload)) {}

  /// Seconds on a device of speed 1; nothing where it can't fit.
  std::optional<double> seconds(int first, int last, int chunk) {
    const double limit = memory.limit_of_chunk(chunk);
    if (!free_)
      return memory.of_chunk(first, last, chunk) <= limit ? std::optional(0.0) : std::nullopt;
    const auto& found = search_.within(first, last, chunk, limit);
    return found ? std::optional(found->seconds) : std::nullopt;
  }

  /// Of the chain's layers, where all chunks fit.
  std::optional<ChosenLayers> recomputed(const std::vector<int>& begin) {
    ChosenLayers all(layers_, false);
    bool any = false;
    for (int chunk = 0; chunk < memory.chunks(); ++chunk) {
      const auto& found =
          search_.within(begin[chunk], begin[chunk + 1], chunk, memory.limit_of_chunk(chunk));
      if (!found) return std::nullopt;
      any |= !found->layers.empty();
      std::copy(found->layers.begin(), found->layers.end(), all.begin() + begin[chunk]);
    }
    return any ? all : ChosenLayers();
  }

  const StageMemory memory;

 private:
  static PlanChoice without_recomputation(PlanChoice choice, Recomputing recomputing) {
    if (recomputing == Recomputing::free) choice.recomputed.clear();
    return choice;
  }

  int layers_;
  bool free_;
  RecomputeSearch search_;
};

/// Of several chunks a rank, the closed form knows the sum alone: whether a rank's chunks should be
/// alike too, as if each had a rank of its own, a simulated step decides.
std::vector<int> better_cut(const PlanningProblem& problem, const Workload& workload,
                            PlanChoice choice, ChunkCutProblem cut) {
  const std::vector<int> by_rank = *cut_chunks(cut);
  cut.rank.clear();
  const std::vector<int> by_chunk = *cut_chunks(cut);
  if (by_rank == by_chunk) return by_rank;
  const auto seconds = [&](const std::vector<int>& begin) {
    choice.begin = begin;
    return foretell_step(problem, workload, choice, 1).step_seconds;
  };
  return seconds(by_chunk) < seconds(by_rank) ? by_chunk : by_rank;
}

}  // namespace

ChosenCut cut_choice(const PlanningProblem& problem, const Workload& workload,
                     const PlanChoice& choice, Recomputing recomputing) {
  Fitting fitting(problem, workload, choice, recomputing);
  const StageMemory& memory = fitting.memory;
  const PlacementProblem closed = closed_form_problem(problem, workload, choice.batch);
  const auto costs = stage_costs(closed, choice.devices);
  const bool one_each = memory.chunks() == choice.stages;
  ChunkCutProblem cut{.layers = problem.chain->size(), .chunks = memory.chunks()};
  for (int chunk = 0; chunk < memory.chunks(); ++chunk) cut.rank.push_back(memory.stage_of(chunk));
  cut.runs = micro_batches_of(closed, {choice.stages, choice.replicas});
  cut.load = [&](int first, int last, int chunk) {
    const StageCost& stage = costs[memory.stage_of(chunk)];
    return one_each ? stage.load(closed.chain, first, last)
                    : closed.chain.work(first, last) / stage.speed();
  };
  cut.extra = [](int, int, int) { return 0.0; };
  ChosenCut chosen;
  if (recomputing == Recomputing::as_chosen) chosen.recomputed = choice.recomputed;
  chosen.begin = one_each ? *cut_chunks(cut) : better_cut(problem, workload, choice, cut);
  chosen.closed_form = closed_form(cut, chosen.begin);
  const auto full = memory.too_full(chosen.begin);
  if (!full) return chosen;
  chosen.lacking_stage = *full;
  chosen.lacking_bytes = memory.of_stages(chosen.begin)[*full] - memory.limit(*full);
  cut.extra = [&](int first, int last, int chunk) -> std::optional<double> {
    const auto seconds = fitting.seconds(first, last, chunk);
    if (!seconds) return std::nullopt;
    return *seconds / costs[memory.stage_of(chunk)].speed();
  };
  const auto within = cut_chunks(cut);
  chosen.fits = within.has_value();
  if (!chosen.fits) return chosen;
  PlanChoice cut_so = choice;
  cut_so.begin = *within;
  if (recomputing == Recomputing::free) cut_so.recomputed = *fitting.recomputed(*within);
  chosen.fits = !StageMemory(problem, cut_so).too_full(*within);
  if (!chosen.fits) return chosen;
  chosen.begin = cut_so.begin;
  chosen.recomputed = cut_so.recomputed;
  chosen.memory_bound = true;
  chosen.closed_form = closed_form(cut, chosen.begin);
  return chosen;
}

bool recompute_to_fit(const PlanningProblem& problem, const Workload& workload,
                      PlanChoice& choice) {
  Fitting fitting(problem, workload, choice, Recomputing::free);
  if (!fitting.memory.too_full(choice.begin)) {
    choice.recomputed.clear();
    return true;
  }
  const auto recomputed = fitting.recomputed(choice.begin);
  if (!recomputed) return false;
  PlanChoice fitted = choice;
  fitted.recomputed = *recomputed;
  if (StageMemory(problem, fitted).too_full(fitted.begin)) return false;
  choice = std::move(fitted);
  return true;
}

}  // namespace penstock
