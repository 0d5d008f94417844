#pragma once

#include <cstddef>
#include <vector>

#include "runtime/profiling/trace_steps.h"

namespace penstock::tools {

/// A predicted message of a trace, on its clock.
struct TraceMessage {
  std::size_t step = 0;
  partition::TimedMessage message;
  int lane = 0;  // of those to the same rank
};

/// Those that a prediction has of all steps, by their start. Messages to a rank that are under way
/// at one time lie in different lanes: on a thread of Chrome's trace events, one must not begin
/// within another and end behind it.
[[nodiscard]] std::vector<TraceMessage> messages_in_lanes(
    const std::vector<runtime::TracedStep>& steps, runtime::Prediction prediction);

}  // namespace penstock::tools
