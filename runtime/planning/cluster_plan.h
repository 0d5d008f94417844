#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time_limit.h"
#include "configs/config.h"
#include "partition/layout/layer_sequence.h"
#include "partition/planner/choose/find_best_plan.h"
#include "partition/planner/cost/device_profile.h"
#include "partition/planner/plan/plan.h"
#include "runtime/planning/cluster_costs.h"

namespace penstock::runtime {

struct TrainingState;

/// Returns the seconds of audio in a recipe's default step, which suits one device.
inline double step_seconds_per_device() {
  const configs::DataConfig usual;
  return usual.micro_batch_seconds * usual.micro_batches;
}

/// Constraints on a plan for a described cluster. 0 and empty values are chosen by the planner.
struct ClusterConstraints {
  int stages = 0, replicas = 0, micro_batches = 0;
  std::string schedule = {};
  /// True if the planner may choose the size and number of micro-batches with the same product,
  /// because the recipe names neither.
  bool free_batch = false;
  /// True if the recipe states no step. The step is then step_seconds_per_device() for each device
  /// of the cluster, at most half an epoch, and at least that of one device.
  bool assumes_step = false;
  /// The state from which the run resumes, if it was already read. Null: trainer.resume decides.
  std::shared_ptr<const TrainingState> resumed = {};
  std::uint64_t seed = 1;
  std::size_t placements = 0;  // placements of the plan's stages and replicas to rank in addition
  int first_steps = 0;         // steps from which costs are taken; 0: a sample of the first epoch
  /// Layer costs measured on a device of speed 1. Nothing: costs are computed.
  std::optional<partition::DeviceProfile> costs = {};
  bool believes = false;            // requests ClusterPlan::believed
  const TimeLimit* time = nullptr;  // limits the search
  int threads = 0;                  // threads of the search; 0: one per core
};

/// One placement of a plan's stages and replicas on the devices.
struct RankedPlan {
  partition::Candidate candidate;
  partition::CandidateEstimate estimate;
  partition::Plan plan;
};

/// The result of plan_for_cluster(): the plan, the recipe to train with, and the problem that the
/// plan solves.
struct ClusterPlan {
  std::shared_ptr<const TrainingState> resumed;  // null: the run starts from scratch
  configs::Config recipe;  // the recipe to train with, including the chosen keys of [data]
  std::unique_ptr<partition::LayerSequence> sequence;
  /// The same layers with recomputation within residual units; null if no layer can do that.
  std::unique_ptr<partition::LayerSequence> recomputing;
  partition::PlanningProblem problem;  // for `sequence`
  partition::BestPlan best_plan;
  bool search_ended = false;  // the time limit ended the search; the plan is the best so far
  partition::Plan
      plan;  // rank i runs on the i-th device that the plan uses, in the cluster's order
  std::vector<partition::RatedDevice> rated = {};  // kinds of device that the cluster names
  std::optional<BelievedStep> believed = {};       // set if costs are computed for a rated device
  std::vector<RankedPlan> ranked = {};             // the fastest first, as by rank_candidates()
  double assumed_step_s = 0;  // data.batch_seconds under ClusterConstraints::assumes_step; else 0
  double epoch_audio_s = 0;   // data.train, each utterance at its mean speed
};

}  // namespace penstock::runtime
