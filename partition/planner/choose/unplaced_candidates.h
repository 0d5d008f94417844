#pragma once

#include <vector>

#include "partition/planner/choose/problem.h"
#include "partition/planner/placement/problem.h"

namespace penstock::partition {

/// An UnplacedCandidate is a batch division with numbers of stages and replicas. Placements and
/// schedules make several candidates of it.
struct UnplacedCandidate {
  BatchDivision batch;
  Grid grid;
  double bound = 0;  // lower bound on the closed form: seconds per second of audio
};

/// Returns all unplaced candidates for which the cluster has devices, the lowest bound first.
/// Throws ConfigError if the problem asks for more stages than layers or devices, or more replicas
/// than devices or lanes.
[[nodiscard]] std::vector<UnplacedCandidate> unplaced_candidates(const PlanningProblem& problem,
                                                                 Workloads& workloads);

/// Returns the placements of an unplaced candidate that are worth a cut. The first is the best by
/// the closed form. If speeds differ, the best as if messages were free follows, since computing
/// may hide them. If memories differ, the best that should fit and other orders of the stages
/// follow.
[[nodiscard]] std::vector<Placement> placements(const PlanningProblem& problem,
                                                const Workload& workload,
                                                const UnplacedCandidate& unplaced);

/// Returns the closed form of the mean micro-batch on the cluster.
[[nodiscard]] PlacementProblem closed_form_problem(const PlanningProblem& problem,
                                                   const Workload& workload,
                                                   const BatchDivision& batch);

/// Returns the problem with free messages, as if computing hid them all.
[[nodiscard]] PlacementProblem without_links(PlacementProblem problem);

}  // namespace penstock::partition
