#pragma once

#include "partition/choose/chain_steps.h"
#include "partition/report/plan_view.h"

namespace penstock {

/// A measured chain on a cluster as people see it, with the first of `steps`, as chain_steps()
/// orders them, simulated. Of a step that is too long to render, the first replicas are kept, one
/// at least. `others` are grids that were not chosen.
PlanView view_of(const ChainPlan& plan, const std::vector<ChainStep>& steps,
                 const std::vector<AlternativeView>& others = {});

/// What other grids come to, the best first: the placement that a short search finds, or the bound
/// where it is above the step found already or the grid is large. At most `most`.
std::vector<AlternativeView> other_grids(const PlacementProblem& problem, const PlacedChain& placed,
                                         const GridConstraints& constraints, std::size_t most);

/// Seconds of a step by the closed form.
double closed_form_step(const PlacementProblem& problem, const PlacedChain& placed);

}  // namespace penstock
