#pragma once

#include <memory>
#include <string>
#include <vector>

#include "partition/cost/profile.h"
#include "partition/placement/search.h"
#include "partition/simulate/step_estimate.h"

namespace penstock::partition {

/// A placed layer sequence whose steps are simulated. All must outlive what is made of them.
struct SequencePlan {
  const PlacementProblem& problem;
  const PlacedSequence& placed;
  const SequenceProfile& profile;
  double least_step = 0;  // seconds that no simulated step takes less, as least_step()

  /// Micro-batches of a step that a replica runs.
  int runs_of(int replica) const;
  /// Of a stage with so many micro-batches in flight.
  double bytes(int stage, int in_flight) const;
  /// What a stage may take of its smallest device.
  double limit(int stage) const;
};

/// What a step of a placed layer sequence takes under a schedule.
struct SequenceStep {
  std::string schedule;
  std::vector<int> in_flight = {};  // on each stage: micro-batches whose activations it holds
  bool fits = true;                 // into the devices' memory
  double seconds = 0;               // of the slowest replica, simulated; 0: too long to simulate
};

/// The step of one replica: every message has its link to itself, and is hidden behind computing as
/// far as the cluster's overlap says; gradients are added in a ring behind a stage's last backward.
std::unique_ptr<StepEstimate> predict_sequence_step(const SequencePlan& plan,
                                                    const std::string& schedule, int replica);

/// The named schedules of one chunk a stage, which the cut was made for, the chosen first: the
/// fastest that fits, of equals the one that holds less; then the others, as they are listed. With
/// recomputation only those that do not split backward, as else what is recomputed would stay.
/// Steps of more than 2,048 pairs of stage and micro-batch, over replicas that differ, are not
/// simulated: then 1F1B, whose memory the placement was searched with, stands alone.
std::vector<SequenceStep> sequence_steps(const SequencePlan& plan);

}  // namespace penstock::partition
