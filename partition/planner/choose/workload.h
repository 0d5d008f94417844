#pragma once

#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "base/cache.h"
#include "partition/planner/choose/problem.h"
#include "partition/planner/cost/profile.h"
#include "partition/planner/cost/step_costs.h"

namespace penstock::partition {

/// The work of a batch choice's replicas in the sampled steps, with its costs. It depends neither
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

  /// Returns the workload; `selective` is PlanChoice::selective.
  const Workload& of(const BatchChoice& batch, int replicas, bool selective);
  /// The same with the problem's own `selective`.
  const Workload& of(const BatchChoice& batch, int replicas) {
    return of(batch, replicas, problem_.selective);
  }

 private:
  Workload make(const BatchChoice& batch, int replicas, bool selective);
  Workload::Step with_costs(const SampledStep& sampled, int replicas, bool selective);
  /// Returns the costs of a step with this micro-batch alone. They are cached, since other batch
  /// choices and numbers of replicas have the same micro-batches.
  const StepCosts& costs_of(const MicroBatchLengths& lengths, bool selective);

  using Lengths = std::vector<std::int64_t>;

  const PlanningProblem& problem_;
  std::shared_ptr<MessageCache> messages_;
  Cache<std::tuple<BatchChoice, int, bool>, Workload> known_;
  Cache<std::tuple<Lengths, Lengths, bool>, StepCosts> micro_batches_;
};

/// Returns the FP32 bytes of each layer's gradients; 0 for a layer that is wholly frozen.
std::vector<double> parameter_bytes(const LayerSequence& sequence);
/// Returns the bytes of each layer's trained parameters as forward reads them: in `compute`, except
/// for parameters that stay FP32.
std::vector<double> read_parameter_bytes(const LayerSequence& sequence, layers::DType compute);

}  // namespace penstock::partition
