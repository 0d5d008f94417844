#pragma once

#include <vector>

#include "partition/planner/choose/sequence/sequence_steps.h"

namespace penstock::partition {

/// Returns placements of a layer sequence that may have the shortest simulated step. The first is
/// the best by the closed form. If the objective is a step on a described cluster, others follow.
/// They are for its grid and for a few grids with bounds near its value. Each grid gives two: the
/// best placement by the closed form, and the best as if messages took no time, since computing may
/// hide them. All carry the first one's bound, which holds for the closed form of each. If steps
/// are too long to simulate, the first stands alone. Returns nothing if none fits.
std::vector<PlacedSequence> sequence_candidates(const PlacementProblem& problem,
                                                const SequenceProfile& profile,
                                                const GridConstraints& constraints,
                                                const SearchEffort& effort);

/// Returns the candidate with the shortest simulated step; an earlier one unless a later one is
/// shorter by more than kSameStep. `candidates` must not be empty.
const PlacedSequence& choose_sequence(const PlacementProblem& problem,
                                      const SequenceProfile& profile,
                                      const std::vector<PlacedSequence>& candidates);

/// Returns a lower bound on the simulated seconds of a step, for any grid, cut, placement and
/// schedule. It counts every replica's work on devices of the given speeds, and one micro-batch's
/// forward and input gradients on the fastest device.
double min_step(const PlacementProblem& problem, const SequenceProfile& profile,
                const GridConstraints& constraints);

}  // namespace penstock::partition
