#pragma once

#include "partition/planner/choose/choose_sequence.h"
#include "partition/planner/report/plan_view.h"

namespace penstock::partition {

/// Says if a step of over half a million passes is simulated for display, which takes seconds.
enum class LongStep { simulated, closed_form };

/// Returns a measured layer sequence on a cluster for display. The first of `steps`, in the order
/// of sequence_steps(), is simulated. If all replicas are too much to draw, only the first ones are
/// kept, but at least one. With LongStep::closed_form a long step has no replicas. `others` are
/// grids that were not chosen.
PlanView view_of(const SequencePlan& plan, const std::vector<SequenceStep>& steps,
                 const std::vector<CandidateView>& others = {},
                 LongStep of_long = LongStep::simulated);

/// Returns the seconds by which the plan is compared with other grids: the simulated step, or the
/// closed form if a step is too long to simulate. With Objective::bottleneck it is the largest
/// load.
double compared_seconds(const SequencePlan& plan, const std::vector<SequenceStep>& steps);

/// Returns at most `max` other grids, best first, by compared_seconds(). A grid has the placement
/// of a short search. It has only its bound if the bound is not below the plan's seconds, if the
/// grid is large, or if its step is too long to simulate.
std::vector<CandidateView> other_grids(const SequencePlan& plan,
                                       const std::vector<SequenceStep>& steps,
                                       const GridConstraints& constraints, std::size_t max);

/// Returns the seconds of a step by the closed form.
double closed_form_step(const PlacementProblem& problem, const PlacedSequence& placed);

}  // namespace penstock::partition
