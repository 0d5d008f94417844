#pragma once

#include <vector>

#include "partition/planner/choose/workload.h"
#include "partition/planner/cut/cut_chunks.h"

namespace penstock::partition {

/// Returns two cut problems for a placed choice, with two models of the mean micro-batch's loads.
/// The closed form's comes first. The caller simulates both cuts and takes the faster.
/// - One chunk per stage: in the closed form, a stage computes nothing while its messages are under
///   way. In the second model it does, as far as the cluster's `overlap` allows. A load is then the
///   computing plus the part of messages that is not hidden, but at least one message's time.
/// - Several chunks per stage: loads are computing alone. A step goes at the pace of the slowest
///   stage. In the second model it goes at that of the slowest chunk, as if each had a stage.
/// No chunk has extra seconds. `problem` must outlive the result.
std::vector<ChunkCutProblem> chunk_loads(const PlanningProblem& problem, const Workload& workload,
                                         const PlanChoice& choice);

}  // namespace penstock::partition
