#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/time_limit.h"
#include "partition/layout/chunk_bytes.h"
#include "partition/planner/cluster/cluster.h"
#include "partition/planner/cost/cost_model.h"
#include "partition/planner/cost/fitted_costs.h"
#include "partition/planner/cost/profile.h"
#include "partition/planner/cost/step_costs.h"
#include "partition/planner/simulate/simulate.h"
#include "partition/schedule/make_schedule.h"

namespace penstock::partition {

/// How a step's audio is divided: a global batch holds `seconds` × `micro_batches` of audio.
struct BatchDivision {
  double seconds = 0;           // most audio of a micro-batch: data.micro_batch_seconds
  int micro_batches = 1;        // per step, over all replicas: data.micro_batches
  std::vector<int> order = {};  // canonical order of the micro-batches: trainer.order
  auto operator<=>(const BatchDivision&) const = default;
};

/// A Candidate is one way to train the model on a cluster: a value for everything that a plan
/// decides. It has no devices before it is placed, and no `begin` before it is cut.
struct Candidate {
  int stages = 1, replicas = 1;
  BatchDivision batch = {};
  std::string schedule = "1f1b";
  ChosenLayers recomputed = {};           // layers whose activations are recomputed
  bool selective = false;                 // residual units recompute outputs of cheap parts
  int resident = 0;                       // pipeline.resident; 0: nothing is offloaded
  bool recompute_exact = true;            // no cheaper recomputation fits, by the mean micro-batch
  bool shards_optimizer = false;          // replicas share the update: pipeline.shard_optimizer
  std::vector<std::string> actions = {};  // as Plan::actions, for the schedule "found"
  std::vector<std::vector<int>> devices = {};  // [stage][replica]: indices into Cluster::devices
  std::vector<int> begin = {};  // first layer of each chunk, then the number of layers

  int slots() const { return stages * replicas; }
};

/// One step of the training, with the lengths of real utterances.
struct SampledStep {
  double audio_seconds = 0;
  std::vector<MicroBatchLengths> micro_batches;  // in canonical order
  std::vector<int> replica;                      // replica that runs each micro-batch
};

/// The model and its training data, as the planner sees them: costs, steps and bytes of layers.
struct TrainedModel {
  const LayerSequence* sequence = nullptr;
  layers::BackendSizes sizes = {};
  CostModel costs = {};  // seconds on a device of speed 1
  /// The same if residual units recompute outputs of cheap parts; empty: they never do.
  CostModel selective_costs = {};
  std::string costs_from = {};   // origin of the costs, for display
  std::string not_counted = {};  // what `bytes` omits, for display; empty: nothing
  FittedCost reading = {};       // of a micro-batch's audio, before its first forward
  /// Seconds on a device of speed 1, once per step: of a rank, and for each of its trained
  /// parameters.
  double step_s = 0, parameter_s = 0;
  /// Returns some real steps. May be called on any thread. Throws ConfigError if no step can be
  /// formed.
  std::function<std::vector<SampledStep>(const BatchDivision&, int replicas)> sample = {};
  /// Returns the memory of any chunks under a candidate. May be called on any thread. It reads all
  /// of the candidate except its cut and devices.
  std::function<ChunkBytes(const Candidate&)> bytes = {};
};

/// PlanConstraints fix some values of a candidate in advance, and list those from which the search
/// may choose the others.
struct PlanConstraints {
  std::vector<BatchDivision> batches = {};
  std::vector<std::string> schedules = {};  // by the names of make_schedule()
  /// Fixes the layers whose activations are recomputed, and Candidate::selective to the next
  /// field. If unset, both are chosen where memory binds.
  std::optional<ChosenLayers> recomputed = {};
  bool selective = false;
  /// Fixes Candidate::resident. If unset, it is chosen where memory binds.
  std::optional<int> resident = {};
  /// Fixes Candidate::shards_optimizer. If unset, it is chosen where memory binds or where it is
  /// faster.
  std::optional<bool> shards_optimizer = false;
  bool adds_whole_gradients = false;  // even if the update is sharded: pipeline.reduction = nccl
  int stages = 0, replicas = 0;       // 0: chosen
  int max_replicas = 0;               // number of lanes; 0: no limit
  bool keeps_order = false;           // found schedules keep the order of micro-batches
  Barrier barrier = Barrier::before_step;  // `none` is pipeline.post_validation
};

/// The effort of the search, and how it runs.
struct SearchSettings {
  /// `finds`: with_found_schedule() runs for the best candidates. `finds_only`: a found schedule is
  /// preferred to a faster named one.
  bool finds = false, finds_only = false;
  std::int64_t find_effort = 4'000'000;  // SearchOptions::effort of each find_schedule()
  /// Skips refinement, and the advice in the error if nothing fits.
  bool is_quick = false;
  std::uint64_t seed = 1;
  const TimeLimit* time = nullptr;  // ends the search with the best plan so far
  int threads = 1;                  // 0: one per core; the number does not change the plan
};

/// A model to be trained on a cluster.
struct PlanningProblem {
  TrainedModel model = {};
  Cluster cluster = {};
  PlanConstraints constraints = {};
  SearchSettings search = {};
  /// Cache of schedules, shared by all copies of this problem; every lookup may add to it.
  std::shared_ptr<ScheduleCache> known_schedules = std::make_shared<ScheduleCache>();
};

/// Returns a short description for people: "4 stages × 2 replicas, zb-h1, 16 × 8 s".
std::string describe(const Candidate& candidate);

/// The work of a batch division's replicas in the sampled steps, with its costs. It depends neither
/// on cut nor on placement. If the problem fixes recomputed layers, `mean`, `work` and `longest`
/// include their recomputation; `steps` does not.
struct Workload {
  struct Step {
    double audio_seconds = 0;
    std::vector<StepCosts> replicas = {};  // each with its micro-batches in their order
  };
  std::vector<Step> steps;
  /// The mean micro-batch, for the closed form. Its activation bytes are bytes of messages.
  SequenceProfile mean;
  std::vector<double> read_bytes = {};  // read_parameter_bytes()
  double audio_seconds = 0;             // per step, mean
  double work = 0;                      // seconds per step on one device of speed 1, mean
  double longest = 0;  // forward and input gradients of a step's longest micro-batch, mean
};

/// A cache of workloads. Each is computed on first use. Thread-safe.
class Workloads {
 public:
  /// `problem` must outlive this object. `messages` may be shared with problems that have the same
  /// layer sequence and sizes.
  explicit Workloads(const PlanningProblem& problem,
                     std::shared_ptr<MessageCache> messages = std::make_shared<MessageCache>())
      : problem_(problem), messages_(std::move(messages)) {}

  /// Returns the workload; `selective` is Candidate::selective.
  const Workload& of(const BatchDivision& batch, int replicas, bool selective);
  /// The same with the problem's own `selective`.
  const Workload& of(const BatchDivision& batch, int replicas) {
    return of(batch, replicas, problem_.constraints.selective);
  }

 private:
  Workload make(const BatchDivision& batch, int replicas, bool selective);
  Workload::Step with_costs(const SampledStep& sampled, int replicas, bool selective);
  /// Returns the costs of a step with this micro-batch alone. They are cached, since other batch
  /// divisions and numbers of replicas have the same micro-batches.
  const StepCosts& costs_of(const MicroBatchLengths& lengths, bool selective);

  using Lengths = std::vector<std::int64_t>;

  const PlanningProblem& problem_;
  std::shared_ptr<MessageCache> messages_;
  Cache<std::tuple<BatchDivision, int, bool>, Workload> known_;
  Cache<std::tuple<Lengths, Lengths, bool>, StepCosts> micro_batches_;
};

/// Returns the FP32 bytes of each layer's gradients; 0 for a layer that is wholly frozen.
std::vector<double> parameter_bytes(const LayerSequence& sequence);
/// Returns the bytes of each layer's trained parameters as forward reads them: in `compute`, except
/// for parameters that stay FP32.
std::vector<double> read_parameter_bytes(const LayerSequence& sequence, layers::DType compute);

}  // namespace penstock::partition
