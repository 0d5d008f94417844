#pragma once

#include <string>
#include <vector>

#include "partition/choose/decide.h"

namespace penstock::partition {

/// Predicted seconds for one of audio, by which choices of other batches compare; infinite where
/// nothing was simulated.
[[nodiscard]] double pace_of(const Alternative& alternative);

/// "stage 2 lacks 1.5 GiB"
std::string describe(const LackingMemory& lacking);

/// Why a simulated choice lost against the best, in words.
[[nodiscard]] std::string why_slower(const Alternative& best, const Alternative& other);

/// What would have to give for a faster plan: the memory that the closed form's favourite lacks, or
/// else the stage that computes most of a step.
[[nodiscard]] std::string bottleneck_of(const Alternative& best,
                                        const std::vector<Alternative>& alternatives);

}  // namespace penstock::partition
