#pragma once

#include <cstdint>
#include <vector>

#include "comm/communicator.h"
#include "partition/cost/cost.h"
#include "partition/plan/plan.h"
#include "partition/search/find_schedule.h"
#include "runtime/planning/run_shape.h"

namespace penstock::runtime {

/// Whether the run that `config` begins is to be put into an order of its own: pipeline.schedule is
/// found, and neither trainer.order nor a plan file says one.
[[nodiscard]] bool wants_order(const configs::Config& config);

/// An order of a step's micro-batches (trainer.order) for pipeline.stages × pipeline.replicas: that
/// of the shortest simulated step that find_schedule() finds, of one chunk a stage or several, for
/// the mean micro-batch of every size and within a rank's memory. It follows from recipe and
/// lengths alone: costs are computed. Empty, as sampled, for one stage. ConfigError as make_plan.
[[nodiscard]] std::vector<int> find_order(const partition::LayerSequence& sequence,
                                          const configs::Config& config, const RunShape& shape);

/// The same where config wants one, else trainer.order, as rank 0 says.
[[nodiscard]] std::vector<int> shared_order(comm::Communicator& world,
                                            const partition::LayerSequence& sequence,
                                            const configs::Config& config, const RunShape& shape);

/// The shortest simulated step, for micro-batches in trainer.order, of lists that find_schedule()
/// finds for one chunk a stage, for two that go down and up, and for two to four that go round, and
/// of every named schedule; each with the cut that make_plan() gives it and, with
/// pipeline.resident, with its copies. A rank holds as many micro-batches as
/// pipeline.memory_gib has room for (lists that are sought: twice the stages at most); without
/// that limit as many as stages. `effort` is that of the search. ConfigError as make_plan.
[[nodiscard]] partition::Plan plan_found(const partition::LayerSequence& sequence,
                                         const configs::Config& config, const RunShape& shape,
                                         const std::vector<partition::LayerCost>& costs,
                                         std::int64_t effort = partition::SearchOptions().effort);

}  // namespace penstock::runtime
