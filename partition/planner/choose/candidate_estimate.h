#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "partition/planner/choose/problem.h"
#include "partition/planner/simulate/step_estimate.h"
#include "partition/schedule/run_schedule.h"

namespace penstock::partition {

/// The simulated step of a candidate.
struct CandidateEstimate {
  double step_seconds = 0;        // of one step among many, mean of the sampled steps
  double audio_seconds = 0;       // of a step
  std::vector<double> busy;       // by stage: seconds per step that its busiest replica computes
  std::vector<int> slowest = {};  // slowest replica of each sampled step
  /// Audio seconds trained per second.
  double speed() const { return step_seconds > 0 ? audio_seconds / step_seconds : 0; }
  double idle(int stage) const { return 1 - busy[stage] / step_seconds; }
};

/// Memory that a stage lacks for the fastest cut.
struct LackingMemory {
  int stage = 0;
  double bytes = 0;
};

/// A CandidateResult is a candidate with what the search found out about it: its seconds, the
/// memory that it lacks, and why it lost.
struct CandidateResult {
  Candidate candidate;                             // without a cut if it was not cut
  std::optional<CandidateEstimate> estimate = {};  // set if it was simulated
  bool over_all_steps = false;  // `estimate` is over all sampled steps, not the first alone
  double closed_form = 0;       // seconds of a step, or a lower bound
  bool is_bound = false;        // `closed_form` is a bound: the candidate was not tried
  bool memory_bound = false;    // a faster cut did not fit
  double audio_seconds = 0;     // of a step
  std::optional<LackingMemory> lacks = {};  // set if no cut fits
  /// Audio seconds that it would train per second if it had the memory that it lacks; 0: not
  /// simulated.
  double speed_with_memory = 0;
  std::string why = {};  // reason why it lost; empty: it is the best
  /// Seconds of a step with the other Barrier than the problem's. Set for the best few that use
  /// more than one device.
  std::optional<double> other_barrier_s = {};

  /// Returns the predicted or bounded seconds of a step, scaled to `audio` seconds of audio. So
  /// candidates with different batches compare.
  double step_seconds(double audio) const {
    if (estimate) return audio / estimate->speed();
    return audio_seconds > 0 ? closed_form * audio / audio_seconds : 0;
  }
};

/// Relative difference of step times below which predictions count as equal.
inline constexpr double kSameStep = 5e-4;

/// Simulates the first `max_steps` sampled steps of a candidate that is cut and placed. Each
/// replica's pipeline runs its own micro-batches on its own links and devices. A step ends at the
/// barrier at which all ranks agree on the gradient norm, if `problem` has one; it lasts as long as
/// the slowest replica's. Gradients are added by a ring all-reduce (stage_cost()). With a sharded
/// optimizer, a reduce-scatter takes half of that, each owner updates its part, and an all-gather
/// follows.
[[nodiscard]] CandidateEstimate estimate_candidate(const PlanningProblem& problem,
                                                   const Workload& workload,
                                                   const Candidate& candidate,
                                                   std::size_t max_steps = 1000);

/// Returns the seconds of the slowest stage's optimizer update, if each replica updates everything.
[[nodiscard]] double longest_update(const PlanningProblem& problem, const Workload& workload,
                                    const Candidate& candidate);

/// Returns for each chunk the bytes that its largest micro-batch offloads; 0 if nothing is
/// offloaded.
[[nodiscard]] std::vector<double> offloaded_bytes(const PlanningProblem& problem,
                                                  const Candidate& candidate);

/// Names one replica in one sampled step of a workload.
struct ReplicaStep {
  std::size_t step = 0;
  int replica = 0;
};

/// Prepares the simulation of one replica's pipeline in a sampled step. `offloaded` is
/// offloaded_bytes(); if it is empty, copies between devices and host take no time.
[[nodiscard]] std::unique_ptr<StepEstimate> predict_replica(const PlanningProblem& problem,
                                                            const Workload& workload,
                                                            const Candidate& candidate,
                                                            const ReplicaStep& of,
                                                            const std::vector<double>& offloaded);

/// Returns the rank that holds each chunk. A rank is the index of its stage.
[[nodiscard]] std::vector<int> ranks_of_chunks(const Candidate& candidate);

/// Returns the schedule of a candidate: the named one, cached in `known` if that is given, or the
/// candidate's own lists.
RunSchedule schedule_of(const Candidate& candidate,
                        const std::shared_ptr<ScheduleCache>& known = nullptr);

/// A cache of the action lists of a candidate, which depend neither on its cut nor on its devices.
/// Each is made on first use.
class CandidateLists {
 public:
  /// `known` may be null.
  CandidateLists(const Candidate& candidate, const std::shared_ptr<ScheduleCache>& known);

  const Schedule& of(int micro_batches);
  const std::vector<int>& ranks() const { return ranks_; }  // ranks_of_chunks()
  bool splits_backward() const { return schedule_.splits_backward(); }

 private:
  RunSchedule schedule_;
  std::vector<int> ranks_;
  std::map<int, Schedule> known_;
};

/// Returns for each chunk the seconds by which its gradient reduction outlasts its last backward.
/// A layer's gradients are reduced from the end of its backward on, one layer after another. `last`
/// has the costs of the replica's last micro-batch.
[[nodiscard]] std::vector<double> reduction_seconds(
    const PlanningProblem& problem, const Workload& workload, const Candidate& candidate,
    const CandidateLists& lists, const std::vector<LayerCost>& last, int replica);

/// The pipeline of one replica in a sampled step. It is simulated at most once.
class PredictedPipeline {
 public:
  PredictedPipeline() = default;
  explicit PredictedPipeline(std::unique_ptr<StepEstimate> step) : step_(std::move(step)) {}

  bool is_predicted() const { return step_ != nullptr; }
  const StepEstimate& step() const { return *step_; }
  /// Returns StepEstimate::period(), cached. All calls must pass the same barrier.
  double period(Barrier barrier) {
    if (!period_) period_ = step_->period(barrier);
    return *period_;
  }

 private:
  std::unique_ptr<StepEstimate> step_;
  std::optional<double> period_;
};

/// Pipelines by (sampled step, replica).
using PredictedPipelines = std::map<std::pair<std::size_t, int>, PredictedPipeline>;

/// Runs estimate_candidate() for many candidates, and makes each schedule's lists only once.
class CandidateEstimator {
 public:
  /// Both must outlive this object. `workload` is that of the candidates' batch and replicas.
  CandidateEstimator(const PlanningProblem& problem, const Workload& workload)
      : problem_(problem), workload_(workload) {}

  /// Same as estimate_candidate(). `known` has pipelines of the same candidate that were predicted
  /// before.
  CandidateEstimate estimate(const Candidate& candidate, std::size_t max_steps = 1000,
                             PredictedPipelines known = {});
  /// Returns a lower bound on the simulated seconds of a step without shared adapters: those of
  /// single replicas. `slowest` names one for each of the first sampled steps; the others count as
  /// 0. Stops once the bound reaches `enough`. Adds predictions to `known`.
  double min_seconds(const Candidate& candidate, double enough, const std::vector<int>& slowest,
                     PredictedPipelines& known);
  /// True if a few pipelines prove that the candidate's step takes at least `seconds`. It simulates
  /// one replica in each sampled step: `slowest`, which was the slowest of a similar candidate.
  /// Adds predictions to `known`.
  bool takes(const Candidate& candidate, double seconds, const std::vector<int>& slowest,
             PredictedPipelines& known);
  /// Same as predict_replica(), with cached lists.
  std::unique_ptr<StepEstimate> predict(const Candidate& candidate, const ReplicaStep& of,
                                        CandidateLists& lists,
                                        const std::vector<double>& offloaded) const;

 private:
  CandidateLists& lists_of(const Candidate& candidate);

  const PlanningProblem& problem_;
  const Workload& workload_;
  /// Keyed by schedule, stages and resident micro-batches.
  std::map<std::tuple<std::string, int, int>, std::unique_ptr<CandidateLists>> lists_;
};

}  // namespace penstock::partition
