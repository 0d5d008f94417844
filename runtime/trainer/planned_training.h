#pragma once

#include <string>
#include <vector>

#include "partition/planner/plan/plan.h"
#include "partition/planner/simulate/simulate.h"
#include "runtime/data/batch/steps.h"
#include "runtime/planning/run_shape.h"
#include "runtime/trainer/prepared_training.h"

namespace penstock::runtime {

/// A prepared training together with its steps and the plan by which the ranks run them.
struct PlannedTraining {
  PreparedTraining prepared;
  StepSequence steps;
  RunShape shape;
  partition::Plan plan = {};
  /// Planned seconds of each chunk of the layer sequence, for a micro-batch of middling size.
  std::vector<partition::ChunkTimes> chunk_times = {};

  /// Describes a plan that fits if each rank may use `bytes`; see fitting_plan().
  std::string fitting(std::size_t bytes) const;
};

/// Plans a training. All its ranks call this together. For a new run it may search for an order of
/// micro-batches, which it logs in a note. ConfigError if no plan fits.
[[nodiscard]] PlannedTraining plan_training(PreparedTraining prepared);

}  // namespace penstock::runtime
