#pragma once

#include <string>

#include "runtime/profiling/trace_steps.h"

namespace penstock::tools {

/// Returns a trace in the JSON object format of Chrome's trace events, which Perfetto also reads.
/// There is a process "measured" and one for each prediction, under its name. Each has a thread per
/// rank, and a complete event ("ph": "X", microseconds) per action with its kind, chunk,
/// micro-batch and step as arguments. The time in which a rank waited, or read features, before it
/// computed is an event of its own. Messages are flows between the passes that produce and consume
/// them. Counters show the memory that each rank has in use by the plan.
///
/// A predicted step begins with the measured one. A predicted receive lasts as long as its message
/// is in flight. It lies on a thread beside that of its rank, and the flow passes through it.
std::string trace_json(const runtime::Trace& trace);

}  // namespace penstock::tools
