#pragma once

#include <memory>
#include <optional>

#include "partition/choose/choice_estimate.h"
#include "partition/schedule/run_schedule.h"

namespace penstock::partition {

/// Seconds of a replica's mean micro-batch of each size on each chunk of a choice that is cut and
/// placed: [chunk][size], 0 being the one that takes longest, over all sampled steps.
[[nodiscard]] std::vector<std::vector<ChunkTimes>> times_by_size(const PlanningProblem& problem,
                                                                 const Workload& workload,
                                                                 const PlanChoice& choice);

/// The choice with lists and, unless problem.keeps_order, an order of micro-batches that
/// find_schedule() finds for it, wherever its chunks lie, or those of a named schedule of the same
/// chunks that is shorter and fits. Sought lists hold as many micro-batches as devices have room
/// for, twice the stages at most. No slower than the choice itself where each replica has as many
/// micro-batches as the busiest one. `workloads` are the problem's. Nothing if neither fits.
[[nodiscard]] std::optional<PlanChoice> find_choice(const PlanningProblem& problem,
                                                    Workloads& workloads, const PlanChoice& choice);

/// The lists of a choice's steps: of its schedule's name, from `known` if it is given, or its own.
RunSchedule schedule_of(const PlanChoice& choice,
                        const std::shared_ptr<KnownSchedules>& known = nullptr);

}  // namespace penstock::partition
