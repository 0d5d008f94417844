#pragma once

#include <vector>

#include "partition/planner/simulate/simulate.h"

namespace penstock::partition {

/// IdleCauses holds the seconds in which a rank does not compute in a step, by cause. With the
/// rank's computing time and its step action, they add up to the end of the last rank.
struct IdleCauses {
  double fill = 0;       // until its first micro-batch arrives
  double wait = 0;       // until another rank has computed its input
  double message = 0;    // until a message arrives, or has been sent
  double reduction = 0;  // until its gradients are reduced, after its last micro-batch
  double drain = 0;      // until other ranks end, after that

  double sum() const { return fill + wait + message + reduction + drain; }
};

/// Returns the causes for each rank of a simulated pipeline. Rank chunk_rank[c] holds chunk c.
[[nodiscard]] std::vector<IdleCauses> idle_causes(const Simulation& step,
                                                  const std::vector<int>& chunk_rank);

/// The members of IdleCauses.
enum class IdleCause { fill, wait, message, reduction, drain };

/// A Blank is an interval in which a rank does not compute, with its cause.
struct Blank {
  double start = 0, end = 0;  // in seconds
  IdleCause cause = IdleCause::fill;
  /// Rank for which, or for whose message, it waits; -1: none, or several.
  int rank = -1;
};

/// Returns the blanks of each rank, in order. Their sums are the rank's idle_causes().
[[nodiscard]] std::vector<std::vector<Blank>> blanks(const Simulation& step,
                                                     const std::vector<int>& chunk_rank);

/// The place of an action in a simulation: ranks[rank][place].
struct ActionPlace {
  int rank = 0, place = 0;
  bool operator==(const ActionPlace&) const = default;
};

/// Returns a chain of actions up to the last end on any rank, in order. Each starts as soon as its
/// predecessor has ended, or when the predecessor's message arrives. If two predecessors are
/// possible, the one on the same rank is taken. A step gets shorter only if one of these actions or
/// messages does.
[[nodiscard]] std::vector<ActionPlace> critical_path(const Simulation& step,
                                                     const std::vector<int>& chunk_rank);

}  // namespace penstock::partition
