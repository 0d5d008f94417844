#include "partition/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "configs/rules.h"
#include "partition/partitioner.h"
#include "partition/schedules/make_schedule.h"

namespace penstock {
namespace {

void check_counts(int micro_batches, int lanes, int replicas) {
  if (replicas < 1) {
    throw ConfigError(fmt::format("pipeline.replicas = {}: at least 1 is needed", replicas));
  }
  const auto found = contradictions({micro_batches, lanes, replicas});
  if (!found.empty()) throw ConfigError(found.front().what);
}

PartitionProblem problem_of(const PlanRequest& request) {
  PartitionProblem problem;
  for (const LayerCost& cost : request.costs) {
    problem.compute.push_back(cost.total());
    problem.layers.push_back(cost.layer);
  }
  problem.transfer = request.transfers;
  problem.stages = request.pipeline.stages;
  if (request.pipeline.memory_gib > 0) {
    problem.bytes = [&](int first, int last, int stage) {
      return static_cast<double>(request.bytes(first, last, stage).total());
    };
    problem.memory.assign(std::max(0, problem.stages), request.pipeline.memory_gib * (1 << 30));
  }
  return problem;
}

std::int64_t parameters_of(const std::vector<LayerPlan>& plans, int first, int last) {
  std::int64_t count = 0;
  for (int i = first; i < last; ++i) {
    for (const ParamDecl& param : plans[i].params) count += element_count(param.shape);
  }
  return count;
}

double seconds_of(const std::vector<LayerCost>& costs, int first, int last) {
  double seconds = 0;
  for (int layer = first; layer < last; ++layer) seconds += costs[layer].total();
  return seconds;
}

void check_memory(const ChunkPlan& chunk, double limit_gib) {
  const double needed_gib = static_cast<double>(chunk.predicted.bytes.total()) / (1 << 30);
  if (limit_gib == 0 || needed_gib <= limit_gib) return;
  throw ConfigError(fmt::format(
      "memory binds: stage {} of the plan (layers {} to {}) needs {:.4g} GiB, and "
      "pipeline.memory_gib allows {:.4g}. Allow that much, move layers to another stage, or lower "
      "data.micro_batch_seconds",
      chunk.stage, chunk.layers.front(), chunk.layers.back(), needed_gib, limit_gib));
}

}  // namespace

int micro_batches_per_replica(int micro_batches, int lanes, int replicas) {
  const int owned = (lanes + replicas - 1) / replicas;
  return owned * (micro_batches / lanes) + std::min(owned, micro_batches % lanes);
}

Plan make_plan(const Chain& chain, const PlanRequest& request) {
  const PipelineConfig& pipeline = request.pipeline;
  const int lanes = request.lanes > 0 ? request.lanes : pipeline.replicas;
  check_counts(request.micro_batches, lanes, pipeline.replicas);
  const Partition cut = partition(problem_of(request));

  Plan plan{.model = request.model,
            .schedule = pipeline.schedule,
            .micro_batches = request.micro_batches,
            .lanes = lanes,
            .ranks = neighbouring_stages(pipeline.stages, pipeline.replicas)};
  const auto stages = make_schedule(pipeline.schedule, pipeline.stages, 1).chunk_rank;
  for (int i = 0; i < static_cast<int>(stages.size()); ++i) {
    ChunkPlan& chunk = plan.chunks.emplace_back(ChunkPlan{stages[i], cut.begin[i]});
    for (int layer = cut.begin[i]; layer < cut.begin[i + 1]; ++layer)
      chunk.layers.push_back(request.costs[layer].layer);
  }
  return foretell(chain, request, std::move(plan));
}

Plan foretell(const Chain& chain, const PlanRequest& request, Plan plan) {
  const double whole = seconds_of(request.costs, 0, static_cast<int>(request.costs.size()));
  const auto plans = plan_chain(chain, std::vector<std::int64_t>{1}, {});
  for (int i = 0; i < static_cast<int>(plan.chunks.size()); ++i) {
    ChunkPlan& chunk = plan.chunks[i];
    const double seconds = seconds_of(request.costs, chunk.first, chunk.last());
    chunk.predicted = {.time_share = whole > 0 ? std::round(1e4 * seconds / whole) / 1e4 : 0,
                       .parameters = parameters_of(plans, chunk.first, chunk.last()),
                       .bytes = request.bytes(chunk.first, chunk.last(), i)};
    check_memory(chunk, request.pipeline.memory_gib);
  }
  return plan;
}

}  // namespace penstock
