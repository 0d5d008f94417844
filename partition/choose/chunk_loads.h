#pragma once

#include <vector>

#include "partition/choose/workload.h"
#include "partition/cut/cut_chunks.h"

namespace penstock::partition {

/// How a placed choice may be cut: its mean micro-batch's loads in each of the ways to count them,
/// the closed form's first. Which cut is the fastest, a simulated step tells.
/// - One chunk a stage: as the closed form, in which a stage computes nothing while its messages
///   are under way; or as if it computed meanwhile, as much as the cluster's overlap says. Its load
///   is then computing and what is left of the messages that it sends, or one message's time.
/// - Several: computing alone, and a step at the pace of the slowest stage, or of the slowest
///   chunk, as if each had a stage of its own.
/// No chunk needs extra seconds. `problem` must outlive them.
std::vector<ChunkCutProblem> chunk_loads(const PlanningProblem& problem, const Workload& workload,
                                         const PlanChoice& choice);

}  // namespace penstock::partition
