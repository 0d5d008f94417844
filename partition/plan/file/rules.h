#pragma once

#include "partition/plan/file/syntax.h"
#include "partition/plan/plan_file.h"

namespace penstock::partition {

/// Adds to source.faults where the plan contradicts itself or the model; sets ChunkPlan::first.
void check_rules(PlanSource& source, const PlannedModel& model);

}  // namespace penstock::partition
