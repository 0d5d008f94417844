#pragma once

#include <vector>

#include "partition/plan/plan.h"
#include "partition/simulate/memory.h"
#include "partition/simulate/simulate.h"

namespace penstock::tools {

/// A message of a traced step: from within the pass that makes it to within the one that takes it.
struct TraceFlow {
  partition::Edge edge;
  int micro_batch = 0;
  int from_rank = 0, to_rank = 0;
  double sent = 0, taken = 0;  // seconds
};

/// Those between the ranks of each replica. `passes` are what each rank computed, or is predicted
/// to; other actions are left aside.
[[nodiscard]] std::vector<TraceFlow> flows_of(
    const partition::Plan& plan, const std::vector<std::vector<partition::TimedAction>>& passes);

/// Bytes that the plan says a rank has in use after each of its passes: what is always there, and
/// of what is kept for backward the share of the micro-batches in flight.
[[nodiscard]] std::vector<partition::MemoryPoint> memory_of(
    const partition::Plan& plan, int rank, const std::vector<partition::TimedAction>& passes);

}  // namespace penstock::tools
