#pragma once

#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "base/known.h"
#include "partition/choose/problem.h"
#include "partition/cost/profile.h"
#include "partition/cost/step_costs.h"

namespace penstock::partition {

/// What the replicas of a batch choice have to do, with its costs, before anything is cut or
/// placed. Whole layers that the problem says to recompute are in the sums and the mean alone.
struct Workload {
  struct Step {
    double audio_seconds = 0;
    std::vector<StepCosts> replicas = {};  // each in its own order
  };
  std::vector<Step> steps;
  /// The mean micro-batch, for the closed form; bytes of activations are those of a message.
  SequenceProfile mean;
  std::vector<double> read_bytes = {};  // of each layer's trained parameters, as layers read them
  double audio_seconds = 0;             // of a step, on average
  double work = 0;                      // seconds of a step on one device of speed 1, on average
  double longest = 0;                   // of a step's longest way to the loss and back, on average
};

/// Workloads, each made when it is first asked for, by any thread.
class Workloads {
 public:
  /// `problem` must outlive this. `messages` may be those of other problems with the same layer
  /// sequence and sizes.
  explicit Workloads(const PlanningProblem& problem,
                     std::shared_ptr<KnownMessages> messages = std::make_shared<KnownMessages>())
      : problem_(problem), messages_(std::move(messages)) {}

  const Workload& of(const BatchChoice& batch, int replicas, bool selective);
  /// With the recomputation within units that the problem says.
  const Workload& of(const BatchChoice& batch, int replicas) {
    return of(batch, replicas, problem_.selective);
  }

 private:
  Workload make(const BatchChoice& batch, int replicas, bool selective);
  Workload::Step with_costs(const SampledStep& sampled, int replicas, bool selective);
  /// Of a step that has that micro-batch alone: other replicas' steps have the same ones.
  const StepCosts& costs_of(const MicroBatchLengths& lengths, bool selective);

  using Lengths = std::vector<std::int64_t>;

  const PlanningProblem& problem_;
  std::shared_ptr<KnownMessages> messages_;
  Known<std::tuple<BatchChoice, int, bool>, Workload> known_;
  Known<std::tuple<Lengths, Lengths, bool>, StepCosts> micro_batches_;
};

/// FP32 bytes of each layer's gradients, which a layer that is frozen whole has none of.
std::vector<double> parameter_bytes(const LayerSequence& sequence);
/// The same of what layers that compute in `compute` read: halves, but of parameters that stay
/// FP32.
std::vector<double> read_parameter_bytes(const LayerSequence& sequence, layers::DType compute);

}  // namespace penstock::partition
