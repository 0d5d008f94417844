#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "partition/choose/workload.h"
#include "partition/schedule/run_schedule.h"
#include "partition/simulate/least_period.h"
#include "partition/simulate/step_estimate.h"

namespace penstock::partition {

/// What simulation says of a choice.
struct ChoiceEstimate {
  double step_seconds = 0;   // of one step among many, on average over the sampled ones
  double audio_seconds = 0;  // of a step
  std::vector<double> busy;  // of each stage: seconds of a step that its slowest replica computes
  std::vector<int> slowest = {};  // replica of each sampled step
  /// Audio seconds trained in a second.
  double speed() const { return step_seconds > 0 ? audio_seconds / step_seconds : 0; }
  double idle(int stage) const { return 1 - busy[stage] / step_seconds; }
};

/// Share of a step's time within which predictions say no difference.
inline constexpr double kSameStep = 5e-4;

/// Every step that was sampled is run through the pipeline of every replica, with its own
/// micro-batches, links and devices, to the barrier at which all ranks agree on the norm, if
/// `problem` has one; a step lasts as long as that of the slowest replica. Gradients are added in a
/// ring (stage_cost()), and the optimizer takes what its bytes take. Where replicas share the
/// update, gradients go half that way, each owner updates its part, and all get all of it behind
/// that.
[[nodiscard]] ChoiceEstimate estimate_choice(const PlanningProblem& problem,
                                             const Workload& workload, const PlanChoice& choice,
                                             std::size_t most_steps = 1000);

/// Seconds that no stage's update takes more: where each replica updates everything.
[[nodiscard]] double longest_update(const PlanningProblem& problem, const Workload& workload,
                                    const PlanChoice& choice);

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

/// The rank, which is a stage, that holds each chunk.
[[nodiscard]] std::vector<int> ranks_of_chunks(const PlanChoice& choice);

/// A choice's lists, whatever its cut and devices: each is made when it is first asked for.
class ChoiceLists {
 public:
  /// `known` may be none.
  ChoiceLists(const PlanChoice& choice, const std::shared_ptr<KnownSchedules>& known);

  const Schedule& of(int micro_batches);
  const LeastPeriod& least_period_of(int micro_batches);
  const std::vector<int>& ranks() const { return ranks_; }  // ranks_of_chunks()
  bool splits_backward() const { return schedule_.splits_backward(); }

 private:
  RunSchedule schedule_;
  std::vector<int> ranks_;
  std::map<int, Schedule> known_;
  std::map<int, LeastPeriod> least_periods_;
};

/// Seconds that adding each chunk's gradients over the replicas goes on behind its last backward.
/// `last` is what the replica's last micro-batch costs: a layer's gradients are added from when its
/// backward ends, those of one layer after the other's.
[[nodiscard]] std::vector<double> reduction_seconds(
    const PlanningProblem& problem, const Workload& workload, const PlanChoice& choice,
    const ChoiceLists& lists, const std::vector<LayerCost>& last, int replica);

/// The pipeline of one replica in a sampled step, which is run at most once.
class PredictedPipeline {
 public:
  PredictedPipeline() = default;
  explicit PredictedPipeline(std::unique_ptr<StepEstimate> step) : step_(std::move(step)) {}

  bool is_predicted() const { return step_ != nullptr; }
  const StepEstimate& step() const { return *step_; }
  /// StepEstimate::period() with the one barrier that is asked for.
  double period(Barrier barrier) {
    if (!period_) period_ = step_->period(barrier);
    return *period_;
  }

 private:
  std::unique_ptr<StepEstimate> step_;
  std::optional<double> period_;
};

/// By sampled step and replica.
using PredictedPipelines = std::map<std::pair<std::size_t, int>, PredictedPipeline>;

/// estimate_choice() of many choices, which makes each schedule's lists once.
class ChoiceEstimator {
 public:
  /// Both must outlive this; `workload` is that of the choices' batch and replicas.
  ChoiceEstimator(const PlanningProblem& problem, const Workload& workload)
      : problem_(problem), workload_(workload) {}

  /// `known` are pipelines of the choice that were predicted before.
  ChoiceEstimate estimate(const PlanChoice& choice, std::size_t most_steps = 1000,
                          PredictedPipelines known = {});
  /// Adds up the longest paths (LeastPeriod) of the first sampled steps, as many as `slowest` has
  /// replicas of, and divides by all sampled steps: seconds of which no simulation takes less. It
  /// ends at `enough`. Without a barrier it is 0. What is predicted goes to `known`.
  double longest_paths(const PlanChoice& choice, double enough, const std::vector<int>& slowest,
                       PredictedPipelines& known);
  /// Whether the choice's step is found to take so many seconds or more by the pipelines alone of
  /// one replica in each sampled step: of those that were the slowest of a choice like it. Their
  /// longest paths are tried before they are simulated (LeastPeriod); where a pipeline is all that
  /// there is, simulation is left to estimate(). What it predicts goes to `known`.
  bool takes(const PlanChoice& choice, double seconds, const std::vector<int>& slowest,
             PredictedPipelines& known);
  /// predict_replica() with the choice's lists.
  std::unique_ptr<StepEstimate> predict(const PlanChoice& choice, const ReplicaStep& of,
                                        ChoiceLists& lists,
                                        const std::vector<double>& offloaded) const;

 private:
  ChoiceLists& lists_of(const PlanChoice& choice);

  const PlanningProblem& problem_;
  const Workload& workload_;
  /// By schedule, stages and resident micro-batches.
  std::map<std::tuple<std::string, int, int>, std::unique_ptr<ChoiceLists>> lists_;
};

}  // namespace penstock::partition
