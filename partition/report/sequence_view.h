#pragma once

#include "partition/choose/sequence_steps.h"
#include "partition/report/plan_view.h"

namespace penstock::partition {

/// Whether a step of over half a million passes, which takes seconds, is simulated to be shown.
enum class LongStep { simulated, closed_form };

/// A measured layer sequence on a cluster as people see it, with the first of `steps`, as
/// sequence_steps() orders them, simulated. Of a step that is too long to render, the first
/// replicas are kept, one at least; none where a long step takes the closed form. `others` are
/// grids that were not chosen.
PlanView view_of(const SequencePlan& plan, const std::vector<SequenceStep>& steps,
                 const std::vector<AlternativeView>& others = {},
                 LongStep of_long = LongStep::simulated);

/// What other grids come to, the best first: the placement that a short search finds, or the bound
/// where it is above the step found already or the grid is large. At most `most`.
std::vector<AlternativeView> other_grids(const PlacementProblem& problem,
                                         const PlacedSequence& placed,
                                         const GridConstraints& constraints, std::size_t most);

/// Seconds of a step by the closed form.
double closed_form_step(const PlacementProblem& problem, const PlacedSequence& placed);

}  // namespace penstock::partition
