#pragma once

#include <cstddef>
#include <vector>

#include "partition/planner/choose/refine_choice.h"

namespace penstock::partition {

/// Returns at most `count` placements of `like`'s stages and replicas, by simulated seconds of a
/// step. rank_placements() proposes them by the closed form. cut_choice() cuts each within memory,
/// with the cheapest recomputation of its own if `like` has some. ChoiceRefiner refines the cuts of
/// the best 64 and shares them. Devices that `like` leaves free may be used. Returns nothing if
/// none fits.
std::vector<RankedChoice> rank_choices(const PlanningProblem& problem, const PlanChoice& like,
                                       std::size_t count);

}  // namespace penstock::partition
