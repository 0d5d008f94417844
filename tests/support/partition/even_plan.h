#pragma once

#include "partition/layout/layer_sequence.h"
#include "partition/planner/plan/plan.h"

namespace penstock::test {

/// Stages of about as many parameters each, at least a layer each. Rank = replica · stages + stage.
partition::Plan even_plan(const partition::LayerSequence& sequence, int stages, int replicas);

}  // namespace penstock::test
