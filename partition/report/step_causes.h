#pragma once

#include <vector>

#include "partition/simulate/simulate.h"

namespace penstock::partition {

/// Why a rank does not compute in a step, in seconds. With what it computes and its optimizer's
/// step they add up to the time until the last rank ends.
struct IdleCauses {
  double fill = 0;       // before its first micro-batch
  double wait = 0;       // for what another rank still computes
  double message = 0;    // for a message under way, or to send one
  double reduction = 0;  // for its gradients' sums, after its last micro-batch
  double drain = 0;      // for other ranks, after that

  double sum() const { return fill + wait + message + reduction + drain; }
};

/// Of each rank of a simulated pipeline. Chunk c is held by rank chunk_rank[c].
[[nodiscard]] std::vector<IdleCauses> idle_causes(const Simulation& step,
                                                  const std::vector<int>& chunk_rank);

/// Names of IdleCauses' members.
enum class IdleCause { fill, wait, message, reduction, drain };

/// Time in which a rank does not compute, for one cause.
struct Blank {
  double start = 0, end = 0;  // seconds
  IdleCause cause = IdleCause::fill;
  int rank = -1;  // that it waits for, or for whose message; -1: none, or several
};

/// Those of each rank, in their order. Their sums are its idle_causes().
[[nodiscard]] std::vector<std::vector<Blank>> blanks(const Simulation& step,
                                                     const std::vector<int>& chunk_rank);

/// An action of a simulation: ranks[rank][place].
struct ActionPlace {
  int rank = 0, place = 0;
  bool operator==(const ActionPlace&) const = default;
};

/// Actions of which each begins as soon as the one before has ended, or its message has arrived,
/// up to the last end on any rank, in their order. Where two have equal rights, the one on the same
/// rank. A step is no shorter unless one of them is, or a message.
[[nodiscard]] std::vector<ActionPlace> critical_path(const Simulation& step,
                                                     const std::vector<int>& chunk_rank);

}  // namespace penstock::partition
