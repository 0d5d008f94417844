#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time_limit.h"
#include "configs/config.h"
#include "partition/choose/decide.h"
#include "partition/cost/device_profile.h"
#include "partition/model/layer_sequence.h"
#include "partition/plan/plan.h"
#include "runtime/planning/cluster_costs.h"

namespace penstock::runtime {

struct TrainingState;

/// Seconds of audio in the step that a recipe has by default, which suits one device.
inline double step_seconds_per_device() {
  const configs::DataConfig usual;
  return usual.micro_batch_seconds * usual.micro_batches;
}

/// What is asked of a plan on a described cluster; 0 and empty: chosen.
struct ClusterConstraints {
  int stages = 0, replicas = 0, micro_batches = 0;
  std::string schedule = {};
  /// Whether size and number of micro-batches may be others of the same product, as of a recipe
  /// that names neither.
  bool free_batch = false;
  /// The recipe gives no step: it is step_seconds_per_device() for each device of the cluster, but
  /// at most half of an epoch, and at least that of one device.
  bool assumes_step = false;
  /// The state that the run goes on from, where it was read before; null: trainer.resume says.
  std::shared_ptr<const TrainingState> resumed = {};
  std::uint64_t seed = 1;
  std::size_t placements = 0;  // of the plan's stages and replicas to be ranked besides
  int first_steps = 0;         // that costs are taken from; 0: from some of the first epoch's
  /// What layers take, as measured on a device of speed 1. Nothing: computed.
  std::optional<partition::DeviceProfile> costs = {};
  bool believes = false;            // whether ClusterPlan::believed is asked for
  const TimeLimit* time = nullptr;  // of the search
  int threads = 0;                  // of the search; 0: one a core
};

/// One of the placements of a plan's stages and replicas.
struct RankedPlan {
  partition::PlanChoice choice;
  partition::ChoiceEstimate estimate;
  partition::Plan plan;
};

struct ClusterPlan {
  std::shared_ptr<const TrainingState> resumed;  // null: the run starts anew
  configs::Config recipe;  // with what was chosen of [data]: what the plan is trained with
  std::unique_ptr<partition::LayerSequence> sequence;
  /// The same layers where residual units remake what their cheap parts wrote; null: none does.
  std::unique_ptr<partition::LayerSequence> remaking;
  partition::PlanningProblem problem;  // of that layer sequence
  partition::Decision decision;
  bool search_ended = false;  // by the time limit, with the best plan so far
  partition::Plan
      plan;  // rank i runs on the i-th of the devices that it uses, in the cluster's order
  std::vector<partition::RatedDevice> rated = {};  // kinds of device that the cluster names
  std::optional<BelievedStep> believed = {};       // of costs computed for such a device
  std::vector<RankedPlan> ranked = {};             // the fastest first, as rank_choices()
  double assumed_step_s = 0;  // data.batch_seconds where ClusterConstraints::assumes_step; else 0
  double epoch_audio_s = 0;   // of data.train, each utterance at its mean speed
};

}  // namespace penstock::runtime
