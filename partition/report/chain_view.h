#pragma once

#include "partition/placement/search.h"
#include "partition/profile.h"
#include "partition/report/plan_view.h"

namespace penstock {

/// A measured chain on a cluster as people see it, with 1F1B simulated: messages take their links,
/// which hold up their senders. Of a step that is too long to draw, the first replicas are kept,
/// one at least. `others` are grids that were not chosen.
PlanView view_of(const PlacementProblem& problem, const PlacedChain& placed,
                 const ChainProfile& profile, const std::vector<AlternativeView>& others = {});

/// What other grids come to, the best first: the placement that a short search finds, or the bound
/// where it is above the step found already or the grid is large. At most `most`.
std::vector<AlternativeView> other_grids(const PlacementProblem& problem, const PlacedChain& placed,
                                         const GridWish& wish, std::size_t most);

/// Seconds of a step by the closed form.
double closed_form_step(const PlacementProblem& problem, const PlacedChain& placed);

}  // namespace penstock
