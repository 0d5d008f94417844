#pragma once

#include <string>
#include <vector>

#include "partition/planner/choose/decide.h"

namespace penstock::partition {

/// Relative gain in speed above which a change is reported.
inline constexpr double kClearlyFaster = 5e-3;

/// Returns the predicted seconds per second of audio, by which choices with different batches
/// compare. Infinite if the alternative was not simulated.
[[nodiscard]] double seconds_per_audio_second(const Candidate& candidate);

/// Returns text such as "stage 2 lacks 1.5 GiB".
std::string describe(const LackingMemory& lacking);

/// Returns text on why a simulated choice lost against the best.
[[nodiscard]] std::string why_slower(const Candidate& best, const Candidate& other);

/// True if a choice that lacks memory would be faster than the best by more than kClearlyFaster, by
/// simulation, if it had that memory.
[[nodiscard]] bool would_be_faster(const Candidate& lacking, const Candidate& best);

/// Returns text on what keeps the plan from being faster. That is the memory that the fastest
/// choice with would_be_faster() lacks, or else the stage that computes most of a step.
[[nodiscard]] std::string bottleneck_of(const Candidate& best,
                                        const std::vector<Candidate>& candidates);

}  // namespace penstock::partition
