#pragma once

#include <vector>

#include "partition/choose/sequence_steps.h"

namespace penstock::partition {

/// Placements of a layer sequence that may have the shortest simulated step: the best by the closed
/// form first; then, if steps are asked for on a described cluster, of its grid and of a few others
/// whose closed form comes near, the best of that grid alone, and the best as if messages took no
/// time, as those that computing hides. All carry the first one's bound, which holds for the closed
/// form of each. One alone where its steps are too long to simulate. Empty where nothing fits.
std::vector<PlacedSequence> sequence_candidates(const PlacementProblem& problem,
                                                const SequenceProfile& profile,
                                                const GridConstraints& constraints,
                                                const SearchEffort& effort);

/// The one whose step is the shortest by simulation, the first unless another's is clearly shorter.
/// `candidates` has at least one.
const PlacedSequence& choose_sequence(const PlacementProblem& problem,
                                      const SequenceProfile& profile,
                                      const std::vector<PlacedSequence>& candidates);

/// Seconds that no simulated step of the layer sequence takes less, whatever grid, cut, placement
/// and schedule: every replica's work on devices of the speeds that there are, and one
/// micro-batch's way to the loss and back on the fastest.
double least_step(const PlacementProblem& problem, const SequenceProfile& profile,
                  const GridConstraints& constraints);

}  // namespace penstock::partition
