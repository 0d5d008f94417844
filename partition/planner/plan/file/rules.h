#pragma once

#include "partition/planner/plan/file/syntax.h"
#include "partition/planner/plan/plan_file.h"

namespace penstock::partition {

/// Adds a fault to source.faults for each contradiction within the plan or with the model. Sets
/// ChunkPlan::first.
void check_rules(PlanSource& source, const PlannedModel& model);

}  // namespace penstock::partition
