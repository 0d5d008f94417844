#pragma once

#include <cstddef>
#include <vector>

#include "partition/planner/plan/plan.h"
#include "partition/planner/simulate/memory.h"
#include "partition/planner/simulate/simulate.h"
#include "runtime/profiling/trace_steps.h"

namespace penstock::tools {

// These functions compute messages and memory of a traced step, as a trace draws them.

/// A predicted message, on the clock of the trace.
struct TraceMessage {
  std::size_t step = 0;
  partition::TimedMessage message;
  int lane = 0;  // among the lanes of messages to the same rank
};

/// Returns the predicted messages of all steps, by start. Messages to a rank that overlap in time
/// get different lanes: on a thread of Chrome's trace events, an event must not begin within
/// another and end after it.
[[nodiscard]] std::vector<TraceMessage> messages_in_lanes(
    const std::vector<runtime::TracedStep>& steps, runtime::Prediction prediction);

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
