#include "partition/planner/plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/quantities.h"
#include "configs/rules.h"
#include "partition/layout/recomputed_layers.h"
#include "partition/planner/cut/partitioner.h"
#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

/// Throws ConfigError for the first contradiction, by the rules and in the words of recipes.
void check_counts(int micro_batches, int lanes, int replicas) {
  if (replicas < 1) {
    throw ConfigError(fmt::format("pipeline.replicas = {}: at least 1 is needed", replicas));
  }
  const auto found = configs::contradictions({micro_batches, lanes, replicas});
  if (!found.empty()) throw ConfigError(found.front().what);
}

/// Returns the problem of cutting the sequence into so many chunks, as if each had its own rank and
/// memory without limit.
PartitionProblem problem_of(const PlanRequest& request, int chunks) {
  PartitionProblem problem;
  for (const LayerCost& cost : request.costs) {
    problem.compute.push_back(cost.total());
    problem.layers.push_back(cost.layer);
  }
  problem.transfer = request.transfers;
  problem.stages = chunks;
  problem.chunks_per_rank = chunks / std::max(1, request.pipeline.stages);
  return problem;
}

/// Gives each chunk of a rank an equal share of the memory as its limit.
void limit_memory(const PlanRequest& request, PartitionProblem& problem) {
  problem.bytes = [&](int first, int last, int chunk) {
    const std::array alone{ChunkRange{first, last, chunk}};
    return static_cast<double>(request.bytes(alone).total());
  };
  const double share = request.pipeline.memory_gib * kGib / problem.chunks_per_rank;
  problem.memory.assign(static_cast<std::size_t>(problem.stages), share);
}

/// Returns the chunks of a stage, whose memory is computed together: they share buffers.
std::vector<ChunkRange> held_by(const std::vector<int>& stages, const std::vector<int>& begin,
                                int stage) {
  std::vector<ChunkRange> held;
  for (int chunk = 0; chunk < static_cast<int>(stages.size()); ++chunk)
    if (stages[chunk] == stage) held.push_back({begin[chunk], begin[chunk + 1], chunk});
  return held;
}

/// Returns true if every rank has enough memory for all its chunks.
bool fits(const PlanRequest& request, const std::vector<int>& stages,
          const std::vector<int>& begin) {
  for (int stage = 0; stage < request.pipeline.stages; ++stage)
    if (static_cast<double>(request.bytes(held_by(stages, begin, stage)).total()) >
        request.pipeline.memory_gib * kGib)
      return false;
  return true;
}

/// Returns the fastest cut within the memory limit. With several chunks per rank, the cut without a
/// limit is tried first. If it does not fit, each chunk gets a fixed share of the memory.
Partition fastest_cut(const PlanRequest& request, const std::vector<int>& stages) {
  PartitionProblem problem = problem_of(request, static_cast<int>(stages.size()));
  const bool limited = request.pipeline.memory_gib > 0;
  if (!limited || problem.chunks_per_rank > 1) {
    Partition cut = partition(problem);
    if (!limited || fits(request, stages, cut.begin)) return cut;
  }
  limit_memory(request, problem);
  return partition(problem);
}

std::int64_t parameters_of(const std::vector<layers::LayerPlan>& plans, int first, int last) {
  std::int64_t count = 0;
  for (int i = first; i < last; ++i) {
    for (const layers::ParamDecl& param : plans[i].params)
      if (!param.tied()) count += layers::element_count(param.shape);
  }
  return count;
}

double seconds_of(const std::vector<LayerCost>& costs, int first, int last) {
  double seconds = 0;
  for (int layer = first; layer < last; ++layer) seconds += costs[layer].total();
  return seconds;
}

/// Returns, for example, "conv1 to norm2 and output to loss".
std::string layers_of(const Plan& plan, int stage) {
  std::string text;
  for (const ChunkPlan& chunk : plan.chunks)
    if (chunk.stage == stage)
      text += fmt::format("{}{} to {}", text.empty() ? "" : " and ", chunk.layers.front(),
                          chunk.layers.back());
  return text;
}

void check_memory(const Plan& plan, const ChunkPlan& chunk, double limit_gib) {
  const double needed_gib = chunk.predicted.bytes.total() / kGib;
  if (limit_gib == 0 || needed_gib <= limit_gib) return;
  throw ConfigError(fmt::format(
      "memory binds: stage {} of the plan (layers {}) needs {:.4g} GiB, but "
      "pipeline.memory_gib allows {:.4g}. Allow that much, move layers to another stage, or lower "
      "data.micro_batch_seconds",
      chunk.stage, layers_of(plan, chunk.stage), needed_gib, limit_gib));
}

}  // namespace

// Micro-batches are dealt to lanes in rounds. The last round, if it is not full, may fall on any
// lanes, so all of it may fall on those of one replica. Seven micro-batches in three lanes of two
// replicas: a replica owns up to two lanes, which have up to three and two micro-batches.
int micro_batches_per_replica(int micro_batches, int lanes, int replicas) {
  const int owned = (lanes + replicas - 1) / replicas;
  return owned * (micro_batches / lanes) + std::min(owned, micro_batches % lanes);
}

// A cut knows nothing of stages: `stages` says which one runs each chunk. Predictions, the recipe's
// settings and the memory check are the same for a plan that was read, and with_estimates() makes
// them.
Plan make_plan(const LayerSequence& sequence, const PlanRequest& request) {
  const configs::PipelineConfig& pipeline = request.pipeline;
  const int lanes = request.lanes > 0 ? request.lanes : pipeline.replicas;
  check_counts(request.micro_batches, lanes, pipeline.replicas);
  const auto stages = request.chunk_stages.empty() ? chunk_ranks(pipeline.schedule, pipeline.stages)
                                                   : request.chunk_stages;
  const Partition cut = fastest_cut(request, stages);

  Plan plan{.model = request.model,
            .schedule = pipeline.schedule,
            .micro_batches = request.micro_batches,
            .lanes = lanes,
            .ranks = neighbouring_stages(pipeline.stages, pipeline.replicas)};
  for (int i = 0; i < static_cast<int>(stages.size()); ++i) {
    ChunkPlan& chunk = plan.chunks.emplace_back(ChunkPlan{stages[i], cut.begin[i]});
    for (int layer = cut.begin[i]; layer < cut.begin[i + 1]; ++layer)
      chunk.layers.push_back(request.costs[layer].layer);
  }
  return with_estimates(sequence, request, std::move(plan));
}

Plan with_estimates(const LayerSequence& sequence, const PlanRequest& request, Plan plan) {
  const double whole = seconds_of(request.costs, 0, static_cast<int>(request.costs.size()));
  const auto plans = plan_without_frames(sequence, {});
  const ChosenLayers recomputed = recomputed_layers(request.pipeline, sequence);
  plan.recomputes_within = request.pipeline.recompute == kSelective;
  plan.resident = request.pipeline.resident;
  plan.shards_optimizer = request.pipeline.shard_optimizer && plan.replicas() > 1;
  plan.micro_batch_seconds = request.micro_batch_seconds;
  std::vector<int> stages;
  for (const ChunkPlan& chunk : plan.chunks) stages.push_back(chunk.stage);
  for (ChunkPlan& chunk : plan.chunks) {
    const double seconds = seconds_of(request.costs, chunk.first, chunk.last());
    chunk.predicted = {.time_share = whole > 0 ? std::round(1e4 * seconds / whole) / 1e4 : 0,
                       .parameters = parameters_of(plans, chunk.first, chunk.last()),
                       .bytes = request.bytes(held_by(stages, plan.cut(), chunk.stage))};
    chunk.recomputed.emplace();
    for (int layer = chunk.first; layer < chunk.last(); ++layer)
      if (!recomputed.empty() && recomputed[layer])
        chunk.recomputed->push_back(chunk.layers[layer - chunk.first]);
    check_memory(plan, chunk, request.pipeline.memory_gib);
  }
  return plan;
}

}  // namespace penstock::partition
