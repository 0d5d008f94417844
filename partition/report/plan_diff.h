#pragma once

#include <string>
#include <vector>

#include "partition/plan/plan.h"

namespace penstock::partition {

/// Something that two plans say differently.
struct PlanDifference {
  std::string what, first, second;  // "stage 2, memory", "5.15 GiB", "4.8 GiB"
};

/// Stages, replicas, schedule, batch and order; of each stage layers, recomputed layers, ranks, the
/// share of the computing time and memory, as the plans predict them; at last the slowest stage's
/// share and the fullest one's memory. Empty: the plans train alike.
[[nodiscard]] std::vector<PlanDifference> differences(const Plan& first, const Plan& second);

}  // namespace penstock::partition
