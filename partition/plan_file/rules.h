#pragma once

#include "partition/plan_file.h"
#include "partition/plan_file/syntax.h"

namespace penstock {

/// Adds to source.faults where the plan contradicts itself or the model; sets ChunkPlan::first.
void check_rules(PlanSource& source, const PlannedModel& model);

}  // namespace penstock
