#pragma once

#include <cstddef>
#include <vector>

#include "runtime/profiling/trace_steps.h"

namespace penstock::tools {

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

}  // namespace penstock::tools
