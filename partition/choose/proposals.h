#pragma once

#include <vector>

#include "partition/choose/workload.h"
#include "partition/placement/problem.h"

namespace penstock::partition {

/// Stages and replicas for a batch choice, before they are placed.
struct Proposal {
  BatchChoice batch;
  Grid grid;
  double bound = 0;  // of the closed form, whatever cut and placement: seconds for one of audio
};

/// All that the cluster has devices for, the lowest bound first. ConfigError for more stages than
/// layers or devices, or replicas than devices or lanes.
[[nodiscard]] std::vector<Proposal> proposals(const PlanningProblem& problem, Workloads& workloads);

/// A proposal's placements that are worth a cut: the best by the closed form; where devices' speeds
/// differ, the best if messages were free, as those that computing hides are; where their memories
/// do, the best that should fit into them.
[[nodiscard]] std::vector<Placement> placements(const PlanningProblem& problem,
                                                const Workload& workload, const Proposal& proposal);

/// The mean micro-batch's closed form on the cluster as it is.
[[nodiscard]] PlacementProblem closed_form_problem(const PlanningProblem& problem,
                                                   const Workload& workload,
                                                   const BatchChoice& batch);

/// As if messages were hidden behind computing altogether, and not at all reckoned as loads.
[[nodiscard]] PlacementProblem without_links(PlacementProblem problem);

}  // namespace penstock::partition
