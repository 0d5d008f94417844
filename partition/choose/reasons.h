#pragma once

#include <string>
#include <vector>

#include "partition/choose/decide.h"

namespace penstock::partition {

/// Share of a plan's speed that a change must bring to be worth its words.
inline constexpr double kClearlyFaster = 5e-3;

/// Predicted seconds for one of audio, by which choices of other batches compare; infinite where
/// nothing was simulated.
[[nodiscard]] double pace_of(const Alternative& alternative);

/// "stage 2 lacks 1.5 GiB"
std::string describe(const LackingMemory& lacking);

/// Why a simulated choice lost against the best, in words.
[[nodiscard]] std::string why_slower(const Alternative& best, const Alternative& other);

/// Whether simulation found it faster than the best by more than kClearlyFaster, had it the memory
/// that it lacks.
[[nodiscard]] bool would_be_faster(const Alternative& lacking, const Alternative& best);

/// Says what would have to give for a faster plan: the memory that the fastest choice of those
/// lacks that would_be_faster(), or else the stage that computes most of a step.
[[nodiscard]] std::string bottleneck_of(const Alternative& best,
                                        const std::vector<Alternative>& alternatives);

}  // namespace penstock::partition
