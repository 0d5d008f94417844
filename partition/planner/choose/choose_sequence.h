#pragma once

#include <memory>
#include <string>
#include <vector>

#include "partition/planner/cost/profile.h"
#include "partition/planner/placement/search.h"
#include "partition/planner/simulate/step_estimate.h"

namespace penstock::partition {

/// A placed layer sequence whose steps are simulated. The referenced objects must outlive whatever
/// is made from it.
struct SequencePlan {
  const PlacementProblem& problem;
  const PlacedSequence& placed;
  const SequenceProfile& profile;
  double min_step = 0;  // min_step(), seconds

  /// Micro-batches per step of a replica.
  int runs_of(int replica) const;
  /// Bytes of a stage with so many micro-batches in flight.
  double bytes(int stage, int in_flight) const;
  /// Bytes that a stage may use on its smallest device.
  double limit(int stage) const;
};

/// The step of a placed layer sequence under one schedule.
struct SequenceStep {
  std::string schedule;
  std::vector<int> in_flight = {};  // most micro-batches in flight on each stage
  bool fits = true;                 // into the devices' memory
  double seconds = 0;               // of the slowest replica, simulated; 0: too long to simulate
};

/// Prepares the simulation of one replica's step. Every message has its link to itself; computing
/// hides it as far as the cluster's `overlap` allows. Gradients are added by a ring all-reduce
/// after a stage's last backward.
std::unique_ptr<StepEstimate> predict_sequence_step(const SequencePlan& plan,
                                                    const std::string& schedule, int replica);

/// Returns the steps under the named schedules of one chunk per stage, for which the cut was made.
/// The chosen one comes first: the fastest that fits; of equals, the first in the order 1f1b,
/// zb-h1, zb-h2, gpipe, which holds less. With recomputation, schedules that split backward are
/// left out: recomputed activations would stay until the weight gradient. A step of more than 2,048
/// pairs of stage and micro-batch, over replicas that differ, is not simulated. Then 1f1b stands
/// alone, whose memory the placement search has counted.
std::vector<SequenceStep> sequence_steps(const SequencePlan& plan);

/// Returns placements of a layer sequence that may have the shortest simulated step. The first is
/// the best by the closed form. If the objective is a step on a described cluster, others follow.
/// They are for its grid and for a few more, whose simulated step may be shorter by min_step().
/// Grids with the lowest bounds on the closed form are taken. Each grid gives two: the best
/// placement by the closed form, and the best as if messages took no time, since computing may hide
/// them. All carry the first one's bound, which holds for the closed form of each. If steps
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

/// Returns text on what keeps a placed layer sequence from being faster, by the closed form. It
/// names memory if a cut for the same devices would be faster without limits, or if nothing fits
/// without activation recomputation. It also names the largest part of the slowest stage's load.
std::string bottleneck_of(const SequencePlan& plan);

}  // namespace penstock::partition
