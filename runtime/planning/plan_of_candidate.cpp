#include "runtime/planning/plan_of_candidate.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "partition/planner/choose/with_found_schedule.h"
#include "partition/planner/plan/planner.h"
#include "runtime/planning/planning.h"
#include "runtime/planning/with_candidate.h"

namespace penstock::runtime {
namespace {

/// Returns the layers that run under this candidate.
const partition::LayerSequence& sequence_for(const ClusterPlan& planned,
                                             const partition::Candidate& candidate) {
  return candidate.selective && planned.recomputing ? *planned.recomputing : *planned.sequence;
}

/// Returns [stage][replica]: ranks, numbered in the order of the cluster's devices.
std::vector<std::vector<int>> ranks_of(const std::vector<std::vector<int>>& devices) {
  std::vector<int> used;
  for (const auto& stage : devices) used.insert(used.end(), stage.begin(), stage.end());
  std::ranges::sort(used);
  auto ranks = devices;
  for (auto& stage : ranks)
    for (int& device : stage)
      device = static_cast<int>(std::ranges::lower_bound(used, device) - used.begin());
  return ranks;
}

}  // namespace

partition::Plan plan_of(const ClusterPlan& planned, const partition::Candidate& candidate,
                        const RecipeData& data) {
  const partition::LayerSequence& sequence = sequence_for(planned, candidate);
  const configs::Config config = with_candidate(planned.recipe, sequence, candidate);
  const StepSequence steps = data.steps(config);
  const RunShape shape = shape_of_run(config, steps, data.validation(), data.labels());
  partition::PlanRequest request;
  request.model = planned_model(sequence, config.model, data.labels()).summary;
  const partition::CostModel& costs =
      candidate.selective ? planned.problem.model.selective_costs : planned.problem.model.costs;
  request.costs = costs(middling_lengths(shape));
  request.bytes = bytes_of_run(sequence, config, shape, partition::schedule_of(candidate),
                               DeviceMessages::nccl);
  request.pipeline = config.pipeline;
  request.micro_batch_seconds = config.data.micro_batch_seconds;
  partition::Plan plan{.model = request.model,
                       .schedule = candidate.schedule,
                       .micro_batches = candidate.batch.micro_batches,
                       .lanes = steps.options().lanes,
                       .order = candidate.batch.order,
                       .actions = candidate.actions,
                       .bucket_bytes = candidate.replicas > 1 ? config.pipeline.bucket_bytes : 0,
                       .ranks = ranks_of(candidate.devices)};
  const auto stages = partition::ranks_of_chunks(candidate);
  for (std::size_t chunk = 0; chunk < stages.size(); ++chunk) {
    partition::ChunkPlan& part =
        plan.chunks.emplace_back(partition::ChunkPlan{stages[chunk], candidate.begin[chunk]});
    for (int layer = candidate.begin[chunk]; layer < candidate.begin[chunk + 1]; ++layer)
      part.layers.push_back(sequence.layers[layer]->name());
  }
  return partition::with_estimates(sequence, request, std::move(plan));
}

}  // namespace penstock::runtime
