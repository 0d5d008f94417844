#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "configs/config.h"
#include "partition/layout/chunk_bytes.h"
#include "partition/planner/cost/cost.h"
#include "partition/planner/plan/plan.h"

namespace penstock::partition {

/// A PlanRequest holds everything that a plan depends on.
struct PlanRequest {
  std::string model = {};         // result of model_summary()
  std::vector<LayerCost> costs;   // one per layer, for one micro-batch
  std::vector<double> transfers;  // result of transfer_costs()
  /// Returns the memory of a rank that holds these chunks, such as ChunkBytes.
  std::function<StageBytes(std::span<const ChunkRange> held)> bytes;
  configs::PipelineConfig pipeline = {};  // stages, replicas, schedule, recomputation, memory_gib
  int micro_batches = 1;                  // per step, over all lanes
  double micro_batch_seconds = 0;         // see Plan
  int lanes = 0;                          // 0: one lane per replica
  std::vector<int> chunk_stages = {};     // stages of lists' chunks; empty: by pipeline.schedule
};

/// Makes the fastest cut within pipeline.memory_gib. Rank is replica * stages + stage, so a
/// pipeline's stages are on consecutive ranks.
///
/// The cut is optimal for one chunk per stage. With v chunks per stage, the chunks are cut as
/// evenly as if each had its own rank. So no stage's load is more than v times that of the best
/// cut's largest chunk. If stages then need too much memory, each chunk gets an equal share of
/// pipeline.memory_gib; this may reject what an uneven division would fit.
///
/// Throws ConfigError for an unknown schedule, for more chunks than layers, replicas than lanes or
/// lanes than micro-batches, and if memory does not suffice.
Plan make_plan(const LayerSequence& sequence, const PlanRequest& request);

/// Replaces the predictions in an existing plan by those of the request. Throws ConfigError if a
/// chunk needs more than pipeline.memory_gib.
Plan with_estimates(const LayerSequence& sequence, const PlanRequest& request, Plan plan);

/// Returns the number of a step's micro-batches that the busiest replica runs: the size of its
/// schedule.
[[nodiscard]] int micro_batches_per_replica(int micro_batches, int lanes, int replicas);

}  // namespace penstock::partition
