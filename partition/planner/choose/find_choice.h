#pragma once

#include <memory>
#include <optional>

#include "partition/planner/choose/choice_estimate.h"
#include "partition/schedule/run_schedule.h"

namespace penstock::partition {

/// Returns the mean costs of micro-batches by their rank in size: [chunk][size], where size 0 is a
/// replica's longest micro-batch. Means are over all sampled steps and replicas. The choice must be
/// cut and placed.
[[nodiscard]] std::vector<std::vector<ChunkTimes>> times_by_size(const PlanningProblem& problem,
                                                                 const Workload& workload,
                                                                 const PlanChoice& choice);

/// Returns the choice with a schedule of its own: the lists of find_schedule() for its chunks and,
/// unless problem.keeps_order, an order of micro-batches. Found lists hold as many micro-batches as
/// fit into memory, at most twice the stages. If a named schedule of the same chunks fits and is
/// shorter, its lists are taken. The result is no slower than the choice itself if all replicas
/// have equally many micro-batches. Returns nothing if none fits. `workloads` are the problem's.
[[nodiscard]] std::optional<PlanChoice> find_choice(const PlanningProblem& problem,
                                                    Workloads& workloads, const PlanChoice& choice);

/// Returns the schedule of a choice: the named one, cached in `known` if that is given, or the
/// choice's own lists.
RunSchedule schedule_of(const PlanChoice& choice,
                        const std::shared_ptr<ScheduleCache>& known = nullptr);

}  // namespace penstock::partition
