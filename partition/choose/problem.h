#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time_limit.h"
#include "partition/cluster/cluster.h"
#include "partition/cost/cost_model.h"
#include "partition/cost/fitted_costs.h"
#include "partition/memory/chunk_bytes.h"
#include "partition/schedule/known_schedules.h"
#include "partition/simulate/simulate.h"

namespace penstock::partition {

/// How a step's audio is shared out: a global batch is `seconds` × `micro_batches`.
struct BatchChoice {
  double seconds = 0;           // of audio in a micro-batch, at most: data.micro_batch_seconds
  int micro_batches = 1;        // of a step, over all replicas: data.micro_batches
  std::vector<int> order = {};  // of them: trainer.order
  auto operator<=>(const BatchChoice&) const = default;
};

/// Everything that a plan decides.
struct PlanChoice {
  int stages = 1, replicas = 1;
  BatchChoice batch = {};
  std::string schedule = "1f1b";
  ChosenLayers recomputed = {};  // of the layer sequence's layers: whose activations are recomputed
  bool selective = false;        // residual units remake what their cheap parts wrote
  int resident = 0;              // as pipeline.resident
  bool recompute_exact = true;   // no cheaper ones fit this cut, by the mean micro-batch
  bool shards_optimizer = false;          // replicas share the update: pipeline.shard_optimizer
  std::vector<std::string> actions = {};  // of the schedule "found": as Plan::actions
  std::vector<std::vector<int>> devices = {};  // [stage][replica]: places in Cluster::devices
  std::vector<int> begin = {};                 // first layer of each chunk, then their number

  int slots() const { return stages * replicas; }
};

/// A step of the training as its data make it.
struct SampledStep {
  double audio_seconds = 0;
  std::vector<MicroBatchLengths> micro_batches;  // in canonical order
  std::vector<int> replica;                      // that runs each
};

/// A model to be trained on a cluster.
struct PlanningProblem {
  const LayerSequence* sequence = nullptr;
  layers::BackendSizes sizes = {};
  CostModel costs = {};  // seconds on a device of speed 1
  /// The same where residual units remake what their cheap parts wrote; empty: they never do.
  CostModel selective_costs = {};
  std::string costs_from = {};   // where they come from, for people
  std::string not_counted = {};  // what `bytes` leave out, for people; empty: nothing
  FittedCost reading = {};       // and of a micro-batch, before its first forward
  /// Once a step, of a rank and for each parameter that it trains: seconds on a device of speed 1.
  double step_s = 0, parameter_s = 0;
  Cluster cluster;
  std::vector<BatchChoice> batches;    // to choose from
  std::vector<std::string> schedules;  // to choose from, as make_schedule names them
  /// Layers whose activations are recomputed, whatever else is chosen; nothing: chosen where memory
  /// binds, as is PlanChoice::selective, which is else this one.
  std::optional<ChosenLayers> recomputed = {};
  bool selective = false;
  /// PlanChoice::resident, whatever else is chosen; nothing: chosen where memory binds.
  std::optional<int> resident = {};
  /// Whether replicas share the update; nothing: chosen where memory binds, or where it is faster.
  std::optional<bool> shards_optimizer = false;
  bool adds_whole_gradients = false;  // even then: pipeline.reduction = nccl
  int stages = 0, replicas = 0;       // 0: chosen
  int most_replicas = 0;              // that there are lanes for; 0: any number
  /// Whether lists of their own are sought for the best choices, whether they must win, and whether
  /// micro-batches stay in the order of the batches' choices meanwhile.
  bool finds = false, finds_only = false, keeps_order = false;
  std::int64_t find_effort = 4'000'000;    // of each search for lists, as SearchOptions::effort
  Barrier barrier = Barrier::before_step;  // none: pipeline.post_validation
  bool is_quick = false;  // what fits is not refined, and where nothing does, no word on what would
  std::uint64_t seed = 1;
  const TimeLimit* time = nullptr;  // where it is over, the best choice so far is taken
  int threads = 1;                  // that choices are tried on; 0: one a core; all choose the same
  /// Lists that were made, for all that asks for some; each of them changes it.
  std::shared_ptr<KnownSchedules> known_schedules = std::make_shared<KnownSchedules>();
  /// Some real steps, asked for by any thread; ConfigError where no step can be made so.
  std::function<std::vector<SampledStep>(const BatchChoice&, int replicas)> sample = {};
  /// What chunks take of memory, asked for by any thread: for stages, replicas, batch, schedule,
  /// recomputed layers and what is resident.
  std::function<ChunkBytes(const PlanChoice&)> bytes = {};
};

/// "4 stages × 2 replicas, zb-h1, 16 × 8 s"
std::string describe(const PlanChoice& choice);

}  // namespace penstock::partition
