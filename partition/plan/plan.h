#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "partition/memory/stage_bytes.h"
#include "partition/model/layer_runs.h"

namespace penstock::partition {

/// How many of a step's sums of gradients each replica owns; the first own one more where they do
/// not divide.
std::vector<int> deal_lanes(int lanes, int replicas);

/// What the planner expects of a chunk.
struct ChunkEstimate {
  double time_share = 0;        // of a micro-batch's computing time, to 4 digits
  std::int64_t parameters = 0;  // trained numbers
  StageBytes bytes;             // of the stage that holds it, all its chunks together

  bool operator==(const ChunkEstimate&) const = default;
};

/// Contiguous layers that one stage runs. A stage has one chunk, or several that lie apart.
struct ChunkPlan {
  int stage = 0;
  int first = 0;                         // place of its first layer in the layer sequence
  std::vector<std::string> layers = {};  // names
  /// Those whose activations are recomputed before their backward; nothing, and then in all chunks:
  /// the recipe says.
  std::optional<std::vector<std::string>> recomputed = {};
  ChunkEstimate predicted = {};

  int last() const { return first + static_cast<int>(layers.size()); }  // one past its last layer
  bool operator==(const ChunkPlan&) const = default;
};

/// Where a rank stands.
struct StageReplica {
  int stage = 0, replica = 0;
  bool operator==(const StageReplica&) const = default;
};

/// Which rank runs which layers, and in which order.
struct Plan {
  std::string model = {};  // model_summary() of what was planned
  std::string schedule = "1f1b";
  int micro_batches = 1;           // of a step, over all lanes
  double micro_batch_seconds = 0;  // of audio, at most; 0: the recipe says
  int lanes = 1;                   // sums of gradients, dealt to the replicas
  /// Of a step's micro-batches, as trainer.order; empty: as sampled.
  std::vector<int> order = {};
  /// Where the schedule is "found": what each stage computes in a step of the busiest replica, as a
  /// row of schedule_csv(). Empty otherwise.
  std::vector<std::string> actions = {};
  /// Whether residual units remake what their cheap parts wrote, as pipeline.recompute = selective;
  /// nothing: the recipe says.
  std::optional<bool> recomputes_within = {};
  /// As pipeline.resident; 0: the recipe says.
  int resident = 0;
  /// Whether a stage's replicas share its update, as pipeline.shard_optimizer; nothing: the recipe
  /// says.
  std::optional<bool> shards_optimizer = {};
  /// As pipeline.bucket_bytes; 0: the recipe says.
  std::int64_t bucket_bytes = 0;
  std::vector<std::vector<int>> ranks = {};  // [stage][replica]: every rank once
  std::vector<ChunkPlan> chunks = {};        // in the order of the layer sequence

  int stages() const { return static_cast<int>(ranks.size()); }
  int replicas() const { return ranks.empty() ? 0 : static_cast<int>(ranks.front().size()); }
  int world_size() const { return stages() * replicas(); }
  /// First layer of each chunk, then the number of layers.
  std::vector<int> cut() const;
  /// Predicted for one of the stage's ranks. std::out_of_range if the stage has no chunk.
  const StageBytes& bytes_of(int stage) const;
  /// std::out_of_range if the plan has no such rank.
  StageReplica place_of(int rank) const;
  /// Of each layer of the layer sequence whether it is among ChunkPlan::recomputed; nothing where
  /// no chunk says so.
  std::optional<ChosenLayers> recomputed() const;
  std::vector<int> lanes_of_replicas() const { return deal_lanes(lanes, replicas()); }
  bool operator==(const Plan&) const = default;
};

/// Plan::ranks where each replica's stages are neighbours: rank = replica · stages + stage.
std::vector<std::vector<int>> neighbouring_stages(int stages, int replicas);

}  // namespace penstock::partition
