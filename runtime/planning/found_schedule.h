#pragma once

#include <cstdint>
#include <vector>

#include "comm/communicator.h"
#include "partition/planner/cost/cost.h"
#include "partition/planner/plan/plan.h"
#include "partition/planner/search/find_schedule.h"
#include "runtime/planning/run_shape.h"

namespace penstock::runtime {

/// Returns true if the run needs an order of its own: pipeline.schedule is "found", and neither
/// trainer.order nor a plan file fixes the order.
[[nodiscard]] bool wants_order(const configs::Config& config);

/// Returns an order of a step's micro-batches (trainer.order) for pipeline.stages ×
/// pipeline.replicas. It is the order of the shortest simulated step that find_schedule() finds,
/// with one or several chunks per stage. The search uses the mean micro-batch of every size and
/// respects a rank's memory. Costs are computed, so the order depends on recipe and lengths alone.
/// Empty (as sampled) for one stage. Throws ConfigError like make_plan().
[[nodiscard]] std::vector<int> find_order(const partition::LayerSequence& sequence,
                                          const configs::Config& config, const RunShape& shape);

/// Returns find_order() if wants_order(), else trainer.order. Rank 0 computes it and broadcasts it;
/// all ranks call this together.
[[nodiscard]] std::vector<int> shared_order(comm::Communicator& world,
                                            const partition::LayerSequence& sequence,
                                            const configs::Config& config, const RunShape& shape);

/// Returns the plan with the shortest simulated step, for micro-batches in trainer.order.
/// Candidates are every named schedule, and lists of find_schedule() for three kinds of layout: one
/// chunk per stage, two chunks that go down and up, and two to four that go round. Each has the cut
/// of make_plan() and, with pipeline.resident, its copies. A rank holds as many micro-batches as
/// fit into pipeline.memory_gib (in searched lists at most twice the stages). Without that limit it
/// holds as many as there are stages. `effort` is that of the search. Throws ConfigError like
/// make_plan().
[[nodiscard]] partition::Plan plan_found(const partition::LayerSequence& sequence,
                                         const configs::Config& config, const RunShape& shape,
                                         const std::vector<partition::LayerCost>& costs,
                                         std::int64_t effort = partition::SearchOptions().effort);

}  // namespace penstock::runtime
