#include "partition/outlook.h"

#include "partition/planner.h"
#include "partition/schedules/make_schedule.h"

namespace penstock {

std::vector<ChunkTimes> chunk_times(const Plan& plan, const std::vector<LayerCost>& costs) {
  std::vector<ChunkTimes> times;
  for (const ChunkPlan& chunk : plan.chunks) {
    ChunkTimes& sum = times.emplace_back();
    for (int layer = chunk.first; layer < chunk.last(); ++layer) {
      sum.forward += costs[layer].forward;
      sum.backward_input += costs[layer].backward_input;
      sum.backward_weight += costs[layer].backward_weight;
    }
  }
  return times;
}

Outlook foresee(const Plan& plan, const std::vector<LayerCost>& costs) {
  const auto times = chunk_times(plan, costs);
  const Schedule schedule =
      make_schedule(plan.schedule, plan.stages(),
                    micro_batches_per_replica(plan.micro_batches, plan.lanes, plan.replicas()));
  const Simulation step = simulate(schedule, equal_micro_batches(times));

  Outlook outlook;
  for (const ChunkTimes& chunk : times) outlook.micro_batch_seconds += chunk.total();
  outlook.step_seconds = step.makespan;
  outlook.bound = speedup_bound(schedule, times);
  for (const auto& actions : step.ranks) {
    double busy = 0;
    for (const TimedAction& action : actions) busy += action.end - action.start;
    outlook.idle.push_back(1 - busy / step.makespan);
  }
  return outlook;
}

}  // namespace penstock
