#pragma once

#include <memory>
#include <vector>

#include "partition/choose/workload.h"
#include "partition/simulate/step_estimate.h"

namespace penstock::partition {

/// What simulation says of a choice.
struct ChoiceEstimate {
  double step_seconds = 0;   // of one step among many, on average over the sampled ones
  double audio_seconds = 0;  // of a step
  std::vector<double> busy;  // of each stage: seconds of a step that its slowest replica computes
  /// Audio seconds trained in a second.
  double speed() const { return step_seconds > 0 ? audio_seconds / step_seconds : 0; }
  double idle(int stage) const { return 1 - busy[stage] / step_seconds; }
};

/// Share of a step's time within which predictions say no difference.
inline constexpr double kSameStep = 5e-4;

/// Every step that was sampled is run through the pipeline of every replica, with its own
/// micro-batches, links and devices, to the barrier at which all ranks agree on the norm, if
/// `problem` has one; a step lasts as long as that of the slowest replica. Gradients are added in a
/// ring (stage_cost()), and the optimizer takes what its bytes take.
[[nodiscard]] ChoiceEstimate estimate_choice(const PlanningProblem& problem,
                                             const Workload& workload, const PlanChoice& choice,
                                             std::size_t most_steps = 1000);

/// Of each chunk that offloads, what the largest micro-batch keeps, in bytes.
[[nodiscard]] std::vector<double> offloaded_bytes(const PlanningProblem& problem,
                                                  const PlanChoice& choice);

/// One of a workload's.
struct ReplicaStep {
  std::size_t step = 0;
  int replica = 0;
};

/// The pipeline of one replica in a sampled step. `offloaded` is offloaded_bytes(); without it,
/// copies between devices and host take no time.
[[nodiscard]] std::unique_ptr<StepEstimate> predict_replica(const PlanningProblem& problem,
                                                            const Workload& workload,
                                                            const PlanChoice& choice,
                                                            const ReplicaStep& of,
                                                            const std::vector<double>& offloaded);

/// Seconds that adding each chunk's gradients over the replicas goes on behind its last backward.
/// `last` is what the replica's last micro-batch costs: a layer's gradients are added from when its
/// backward ends, those of one layer after the other's.
[[nodiscard]] std::vector<double> reduction_seconds(const PlanningProblem& problem,
                                                    const Workload& workload,
                                                    const PlanChoice& choice,
                                                    const std::vector<LayerCost>& last,
                                                    int replica);

/// The rank, which is a stage, that holds each chunk.
[[nodiscard]] std::vector<int> ranks_of_chunks(const PlanChoice& choice);

}  // namespace penstock::partition
