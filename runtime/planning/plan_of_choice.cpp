#include "runtime/planning/plan_of_choice.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "partition/planner/choose/find_choice.h"
#include "partition/planner/plan/planner.h"
#include "runtime/planning/planning.h"
#include "runtime/planning/with_choice.h"

namespace penstock::runtime {
namespace {

/// Returns the layers that run under this choice.
const partition::LayerSequence& sequence_for(const ClusterPlan& planned,
                                             const partition::PlanChoice& choice) {
  return choice.selective && planned.recomputing ? *planned.recomputing : *planned.sequence;
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

partition::Plan plan_of(const ClusterPlan& planned, const partition::PlanChoice& choice,
                        const RecipeData& data) {
  const partition::LayerSequence& sequence = sequence_for(planned, choice);
  const configs::Config config = with_choice(planned.recipe, sequence, choice);
  const StepSequence steps = data.steps(config);
  const RunShape shape = shape_of_run(config, steps, data.validation().lengths, data.labels());
  partition::PlanRequest request;
  request.model = planned_model(sequence, config.model, data.labels()).summary;
  const partition::CostModel& costs =
      choice.selective ? planned.problem.training.selective_costs : planned.problem.training.costs;
  request.costs = costs({.frames = shape.micro_batches.at(shape.micro_batches.size() / 2)});
  request.bytes =
      bytes_of_run(sequence, config, shape, partition::schedule_of(choice), DeviceMessages::nccl);
  request.pipeline = config.pipeline;
  request.micro_batch_seconds = config.data.micro_batch_seconds;
  partition::Plan plan{.model = request.model,
                       .schedule = choice.schedule,
                       .micro_batches = choice.batch.micro_batches,
                       .lanes = steps.options().lanes,
                       .order = choice.batch.order,
                       .actions = choice.actions,
                       .bucket_bytes = choice.replicas > 1 ? config.pipeline.bucket_bytes : 0,
                       .ranks = ranks_of(choice.devices)};
  const auto stages = partition::ranks_of_chunks(choice);
  for (std::size_t chunk = 0; chunk < stages.size(); ++chunk) {
    partition::ChunkPlan& part =
        plan.chunks.emplace_back(partition::ChunkPlan{stages[chunk], choice.begin[chunk]});
    for (int layer = choice.begin[chunk]; layer < choice.begin[chunk + 1]; ++layer)
      part.layers.push_back(sequence.layers[layer]->name());
  }
  return partition::with_estimates(sequence, request, std::move(plan));
}

}  // namespace penstock::runtime
