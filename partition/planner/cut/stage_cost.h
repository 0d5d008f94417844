#pragma once

#include <limits>
#include <vector>

#include "partition/planner/cut/sequence_load.h"

namespace penstock::partition {

/// The time of a message: latency, plus seconds per unit sent.
struct LinkCost {
  double latency = 0, per_unit = 0;
  double seconds(double amount) const { return latency + per_unit * amount; }
};

/// The speed of a replica of a stage: seconds per second of work on a device of speed 1, and the
/// links to the previous and the next stage, with all passes counted.
struct Pace {
  double per_work = 1;
  LinkCost enter = {}, leave = {};

  /// True if no cost of this pace exceeds that of `other`.
  bool at_most(const Pace& other) const;
};

/// The cost of a stage with known devices, as a function of its layers.
struct StageCost {
  std::vector<Pace> paces = {};  // of its replicas, without dominated ones
  LinkCost reduction = {};       // of gradients over replicas, per micro-batch
  double memory = std::numeric_limits<double>::infinity();  // bytes, of the smallest device
  int in_flight = 1;                                        // most micro-batches

  /// Adds a replica's pace if it may be the slowest, and drops dominated ones.
  void add(const Pace& pace);
  /// Returns the work per second of the slowest replica, without messages.
  double speed() const;
  /// Returns the seconds of the slowest replica for layers [first, last) of one micro-batch.
  double load(const SequenceLoad& sequence, int first, int last) const;
  bool fits(const SequenceLoad& sequence, int first, int last) const {
    return sequence.bytes(first, last, in_flight) <= memory;
  }
};

}  // namespace penstock::partition
