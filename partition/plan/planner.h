#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "configs/config.h"
#include "partition/cost/cost.h"
#include "partition/memory/chunk_bytes.h"
#include "partition/plan/plan.h"

namespace penstock::partition {

/// What a plan follows from.
struct PlanRequest {
  std::string model = {};         // model_summary()
  std::vector<LayerCost> costs;   // of each layer, one micro-batch
  std::vector<double> transfers;  // transfer_costs()
  /// ChunkBytes, or another account of a rank that holds these chunks.
  std::function<StageBytes(std::span<const ChunkRange> held)> bytes;
  configs::PipelineConfig pipeline = {};  // stages, replicas, schedule, recomputation, memory_gib
  int micro_batches = 1;                  // of a step, over all lanes
  double micro_batch_seconds = 0;         // as Plan's
  int lanes = 0;                          // 0: as many as replicas
  std::vector<int> chunk_stages = {};     // of lists; empty: as pipeline.schedule says
};

/// The fastest cut within pipeline.memory_gib, with rank = replica · stages + stage, so that a
/// pipeline's stages are neighbours. "Fastest" is exact for one chunk a stage. Where the schedule
/// has several, chunks are cut as evenly as if each had a rank of its own, so that no stage's load
/// is above that many times the best chunk's; and if stages then need too much memory, each chunk
/// gets an equal share of pipeline.memory_gib, which may refuse what an uneven sharing would fit.
/// ConfigError for an unknown schedule, for more chunks than layers or replicas than lanes or lanes
/// than micro-batches, and where memory does not suffice.
Plan make_plan(const LayerSequence& sequence, const PlanRequest& request);

/// A plan that somebody made, with what the request predicts of its chunks in place of what the
/// plan says. ConfigError for a chunk that needs more than pipeline.memory_gib.
Plan with_estimates(const LayerSequence& sequence, const PlanRequest& request, Plan plan);

/// Micro-batches of a step that the busiest replica runs: the size of its schedule.
[[nodiscard]] int micro_batches_per_replica(int micro_batches, int lanes, int replicas);

}  // namespace penstock::partition
