#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "partition/planner/choose/tried_candidates.h"

namespace penstock::partition {

/// A BestPlan is the candidate that won the search, with the results of all candidates.
struct BestPlan {
  Workload workload = {};              // of the candidate's batch and replicas
  std::vector<double> slots = {};      // peak bytes of micro-batches in flight, by chunk
  std::vector<double> offloaded = {};  // offloaded_bytes()
  double lower_bound = 0;              // seconds; no candidate's step for as much audio is shorter
  std::string bottleneck = {};         // what keeps the plan from being faster, in words
  std::vector<CandidateResult> results = {};  // the winner's first, then by predicted pace

  const Candidate& candidate() const { return results.front().candidate; }
  const CandidateEstimate& estimate() const { return *results.front().estimate; }
  /// Relative distance of the step from its lower bound; 0 if there is no bound.
  double gap() const {
    return lower_bound > 0 ? std::max(estimate().step_seconds / lower_bound - 1, 0.0) : 0;
  }
};

/// Returns the plan that trains the most audio per second by simulation:
/// 1. Each (batch, stages, replicas) whose parameters may fit (MemoryBound) is placed by
///    find_placement(). They are taken in the order of a lower bound from work and devices. That
///    ends when the bound is 1.5 times the best closed form (3 times without a barrier). At most
///    48 are placed; if none of them fits, the search goes on until one does, then places 48 more.
/// 2. Each placement is cut for each schedule by cut_candidate(), and one step is simulated. If
///    memory binds, it is also cut with a sharded optimizer, with recomputation, and with offload
///    instead. Recomputation is within layers, of whole layers (RecomputeSearch), or both.
///    Candidates that a sharded optimizer may make the best are simulated with one, too.
/// 3. Candidates near the best are simulated over all sampled steps. The best few are refined by
///    CandidateRefiner as long as that may make them the best; the best four then try all its
///    moves.
/// 4. If the problem asks for it, with_found_schedule() searches schedules for the best few.
/// When the problem's time limit is over, the best plan so far is returned, or else the first that
/// fits. Unless time ends the search, equal problems give equal plans. Throws ConfigError if
/// nothing fits; the message names the binding constraint, and what would fit. If time ended the
/// search before everything was tried, the message says that instead.
BestPlan find_best_plan(const PlanningProblem& problem);

}  // namespace penstock::partition
