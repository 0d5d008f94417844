#pragma once

#include <functional>
#include <string>
#include <vector>

#include "configs/config.h"
#include "partition/cost.h"
#include "partition/plan.h"

namespace penstock {

/// What a plan follows from.
struct PlanRequest {
  std::string model = {};         // model_summary()
  std::vector<LayerCost> costs;   // of each layer, one micro-batch
  std::vector<double> transfers;  // transfer_costs()
  /// ChunkBytes, or another account of layers [first, last) as a chunk.
  std::function<StageBytes(int first, int last, int chunk)> bytes;
  PipelineConfig pipeline = {};  // stages, replicas, schedule, memory_gib
  int micro_batches = 1;         // of a step, over all lanes
  int lanes = 0;                 // 0: as many as replicas
};

/// The fastest cut within pipeline.memory_gib, with rank = replica · stages + stage, so that a
/// pipeline's stages are neighbours. ConfigError for an unknown schedule, for more stages than
/// layers or replicas than lanes or lanes than micro-batches, and where memory does not suffice.
Plan make_plan(const Chain& chain, const PlanRequest& request);

/// A plan that somebody made, with what the request predicts of its chunks in place of what the
/// plan says. ConfigError for a chunk that needs more than pipeline.memory_gib.
Plan foretell(const Chain& chain, const PlanRequest& request, Plan plan);

/// Micro-batches of a step that the busiest replica runs: the size of its schedule.
int micro_batches_per_replica(int micro_batches, int lanes, int replicas);

}  // namespace penstock
