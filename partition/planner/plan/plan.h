#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "partition/layout/layer_sequence.h"
#include "partition/layout/stage_bytes.h"

namespace penstock::partition {

/// Returns how many of a step's gradient lanes each replica owns. If they do not divide evenly, the
/// first replicas own one more.
std::vector<int> deal_lanes(int lanes, int replicas);

/// The planner's prediction for a chunk.
struct ChunkEstimate {
  double time_share = 0;        // share of a micro-batch's computing time, to 4 digits
  std::int64_t parameters = 0;  // elements of the chunk's parameters
  StageBytes bytes;             // memory of the chunk's stage, with all its chunks

  bool operator==(const ChunkEstimate&) const = default;
};

/// A ChunkPlan is consecutive layers that one stage runs. A stage has one chunk or several, which
/// are not adjacent.
struct ChunkPlan {
  int stage = 0;
  int first = 0;                         // index of its first layer in the layer sequence
  std::vector<std::string> layers = {};  // names
  /// Layers whose activations are recomputed before their backward. If it has no value, in which
  /// case no chunk has one, the recipe decides.
  std::optional<std::vector<std::string>> recomputed = {};
  ChunkEstimate predicted = {};

  int last() const { return first + static_cast<int>(layers.size()); }  // one past its last layer
  bool operator==(const ChunkPlan&) const = default;
};

/// The position of a rank.
struct StageReplica {
  int stage = 0, replica = 0;
  bool operator==(const StageReplica&) const = default;
};

/// A Plan says which rank runs which layers, and in which order.
struct Plan {
  std::string model = {};  // model_summary() of the planned model
  std::string schedule = "1f1b";
  int micro_batches = 1;           // micro-batches per step, over all lanes
  double micro_batch_seconds = 0;  // maximum of audio per micro-batch; 0: as in the recipe
  int lanes = 1;                   // gradient sums of a step, dealt to the replicas
  /// Order of a step's micro-batches, as trainer.order. Empty means as sampled.
  std::vector<int> order = {};
  /// If the schedule has its own lists (see has_lists()): what each stage computes in a step of the
  /// busiest replica, as a row of schedule_csv(). Empty otherwise.
  std::vector<std::string> actions = {};
  /// True if residual units recompute the outputs of their cheap parts, as with pipeline.recompute
  /// = "selective". If it has no value, the recipe decides.
  std::optional<bool> recomputes_within = {};
  /// The value of pipeline.resident; 0: as in the recipe.
  int resident = 0;
  /// True if a stage's replicas share its update, as pipeline.shard_optimizer. If it has no value,
  /// the recipe decides.
  std::optional<bool> shards_optimizer = {};
  /// The value of pipeline.bucket_bytes; 0: as in the recipe.
  std::int64_t bucket_bytes = 0;
  std::vector<std::vector<int>> ranks = {};  // [stage][replica]: every rank once
  std::vector<ChunkPlan> chunks = {};        // in the order of the layer sequence

  int stages() const { return static_cast<int>(ranks.size()); }
  int replicas() const { return ranks.empty() ? 0 : static_cast<int>(ranks.front().size()); }
  int world_size() const { return stages() * replicas(); }
  /// Returns the first layer of each chunk, then the number of layers.
  std::vector<int> cut() const;
  /// Returns the predicted memory of one rank of the stage. Throws std::out_of_range if the stage
  /// has no chunk.
  const StageBytes& bytes_of(int stage) const;
  /// Returns the stage and the replica of a rank. Throws std::out_of_range if the plan has no such
  /// rank.
  StageReplica place_of(int rank) const;
  /// Returns, for each layer of the layer sequence, true if it is in ChunkPlan::recomputed. Returns
  /// nothing if no chunk has that list.
  std::optional<ChosenLayers> recomputed() const;
  std::vector<int> lanes_of_replicas() const { return deal_lanes(lanes, replicas()); }
  bool operator==(const Plan&) const = default;
};

/// Returns Plan::ranks with the stages of each replica on consecutive ranks: rank = replica *
/// stages + stage.
std::vector<std::vector<int>> neighbouring_stages(int stages, int replicas);

}  // namespace penstock::partition
