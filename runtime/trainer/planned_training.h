#pragma once

#include <string>

#include "partition/plan/plan.h"
#include "runtime/data/steps.h"
#include "runtime/planning/run_shape.h"
#include "runtime/trainer/prepared_training.h"

namespace penstock::runtime {

/// A prepared training and what each rank does in it: which steps, by which plan.
struct PlannedTraining {
  PreparedTraining prepared;
  StepSequence steps;
  RunShape shape;
  partition::Plan plan = {};

  /// What would fit where each rank may take so many bytes; as fitting_plan().
  std::string fitting(std::size_t bytes) const;
};

/// Plans a training for all its ranks, which call it together. A new run's order of micro-batches
/// may be found, and a note says so. ConfigError where no plan fits.
[[nodiscard]] PlannedTraining plan_training(PreparedTraining prepared);

}  // namespace penstock::runtime
