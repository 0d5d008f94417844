#include "partition/planner/plan/plan_estimate.h"

#include "partition/planner/plan/plan_schedule.h"
#include "partition/planner/simulate/chunk_times.h"

namespace penstock::partition {

// Micro-batches are taken as equal and messages as free, as a plan file has neither lengths nor
// links. A stage's idle share is what its actions leave of the makespan.
PlanEstimate estimate_plan(const Plan& plan, const std::vector<LayerCost>& costs) {
  std::vector<int> begin;
  for (const ChunkPlan& chunk : plan.chunks) begin.push_back(chunk.first);
  begin.push_back(static_cast<int>(costs.size()));
  const auto times = chunk_times(begin, costs, plan.recomputed().value_or(ChosenLayers()));
  const Schedule schedule = schedule_of(plan).of(micro_batches_per_replica(plan));
  const Simulation step = simulate(schedule, equal_micro_batches(times));

  PlanEstimate estimate;
  for (const ChunkTimes& chunk : times) estimate.micro_batch_seconds += chunk.total();
  estimate.step_seconds = step.makespan;
  estimate.bound = speedup_bound(schedule, times);
  for (const auto& actions : step.ranks) {
    double busy = 0;
    for (const TimedAction& action : actions) busy += action.end - action.start;
    estimate.idle.push_back(1 - busy / step.makespan);
  }
  return estimate;
}

}  // namespace penstock::partition
