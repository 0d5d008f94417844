#pragma once

#include <string>

#include "runtime/profiling/trace_steps.h"

namespace penstock::tools {

/// A trace in the JSON object format of Chrome's trace events, which Perfetto reads too: a process
/// "measured" and one for each prediction, under its name; in each a thread for each rank, a
/// complete event ("ph": "X", microseconds) for each action with its kind, chunk, micro-batch and
/// step as arguments. What a rank waited, or read features, before it computed stands as an event
/// of its own. Messages are flows between the passes that make and take them; counters say what the
/// plan has in use on each rank. A predicted step begins where the measured one did. A predicted
/// receive lasts as long as its message is under way, on a thread beside that of its rank, which
/// the flow passes.
std::string trace_json(const runtime::Trace& trace);

}  // namespace penstock::tools
