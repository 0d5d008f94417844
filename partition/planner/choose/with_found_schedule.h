#pragma once

#include <optional>
#include <vector>

#include "partition/planner/choose/candidate_estimate.h"

namespace penstock::partition {

/// Returns the mean costs of micro-batches by their rank in size: [chunk][size], where size 0 is a
/// replica's longest micro-batch. Means are over all sampled steps and replicas. The candidate must
/// be cut and placed.
[[nodiscard]] std::vector<std::vector<ChunkTimes>> times_by_size(const PlanningProblem& problem,
                                                                 const Workload& workload,
                                                                 const Candidate& candidate);

/// Returns the candidate with a schedule of its own: the lists of find_schedule() for its chunks
/// and, unless problem.constraints.keeps_order, an order of micro-batches. Found lists hold as many
/// micro-batches as fit into memory, at most twice the stages. If a named schedule of the same
/// chunks fits and is shorter, its lists are taken. The result is no slower than the candidate
/// itself if all replicas have equally many micro-batches. Returns nothing if none fits.
/// `workloads` are the problem's.
[[nodiscard]] std::optional<Candidate> with_found_schedule(const PlanningProblem& problem,
                                                           Workloads& workloads,
                                                           const Candidate& candidate);

/// Returns the best few of `results` with found schedules. `results` must be sorted by pace.
/// with_found_schedule() runs for those that differ in devices, cut, layout of chunks or number of
/// micro-batches. When time is over, the result is empty, or has one entry if
/// problem.search.finds_only.
std::vector<CandidateResult> candidates_with_found_schedules(
    const PlanningProblem& problem, Workloads& workloads,
    const std::vector<CandidateResult>& results);

}  // namespace penstock::partition
