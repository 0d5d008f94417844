#pragma once

#include <string>
#include <vector>

#include "partition/planner/plan/plan.h"

namespace penstock::partition {

/// A PlanDifference is a property in which two plans differ.
struct PlanDifference {
  std::string what, first, second;  // such as "stage 2, memory", "5.15 GiB", "4.8 GiB"
};

/// Returns the differences of two plans, as the plans state them:
/// - stages, replicas, schedule, batch and order;
/// - for each stage: layers, recomputed layers, ranks, share of the computing time, and memory;
/// - the slowest stage's share, and the fullest stage's memory.
///
/// Empty means that the plans train alike.
[[nodiscard]] std::vector<PlanDifference> differences(const Plan& first, const Plan& second);

}  // namespace penstock::partition
