#include "partition/planning/cut_choice.h"

#include "partition/planning/cut_chunks.h"
#include "partition/planning/proposals.h"
#include "partition/planning/stage_memory.h"

namespace penstock {

ChosenCut cut_choice(const PlanningProblem& problem, const Workload& workload,
                     const PlanChoice& choice) {
  const StageMemory memory(problem, choice);
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
  cut.fits = [](int, int, int) { return true; };
  ChosenCut chosen;
  chosen.begin = *cut_chunks(cut);
  chosen.closed_form = closed_form(cut, chosen.begin);
  if (const auto full = memory.too_full(chosen.begin)) {
    chosen.lacking_stage = *full;
    chosen.lacking_bytes = memory.of_stages(chosen.begin)[*full] - memory.limit(*full);
    cut.fits = [&](int first, int last, int chunk) { return memory.fits(first, last, chunk); };
    const auto fitting = cut_chunks(cut);
    if (!fitting || memory.too_full(*fitting)) {
      chosen.fits = false;
      return chosen;
    }
    chosen.begin = *fitting;
    chosen.memory_bound = true;
    chosen.closed_form = closed_form(cut, chosen.begin);
  }
  return chosen;
}

}  // namespace penstock
