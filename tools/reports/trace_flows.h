#pragma once

#include <vector>

#include "partition/planner/plan/plan.h"
#include "partition/planner/simulate/memory.h"
#include "partition/planner/simulate/simulate.h"

namespace penstock::tools {

/// A message of a traced step, drawn from the pass that produces it to the pass that consumes it.
struct TraceFlow {
  partition::Edge edge;
  int micro_batch = 0;
  int from_rank = 0, to_rank = 0;
  double sent = 0, taken = 0;  // seconds
};

/// Returns the messages between the ranks of each replica. `passes` are the actions that each rank
/// computed, or is predicted to compute; actions other than passes are ignored.
[[nodiscard]] std::vector<TraceFlow> flows_of(
    const partition::Plan& plan, const std::vector<std::vector<partition::TimedAction>>& passes);

/// Returns the bytes that, by the plan, a rank has in use after each of its passes: the fixed part,
/// and of the saved activations the share of the micro-batches in flight.
[[nodiscard]] std::vector<partition::MemoryPoint> memory_of(
    const partition::Plan& plan, int rank, const std::vector<partition::TimedAction>& passes);

}  // namespace penstock::tools
