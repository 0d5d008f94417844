#pragma once

#include <limits>
#include <vector>

#include "partition/cut/sequence_load.h"

namespace penstock::partition {

/// Seconds that a message takes: latency, and for each unit that crosses.
struct LinkCost {
  double latency = 0, per_unit = 0;
  double seconds(double amount) const { return latency + per_unit * amount; }
};

/// What a replica of a stage runs at: seconds for a second's work on a device of speed 1, and its
/// links to the stages in front of it and behind it, all passes counted.
struct Pace {
  double per_work = 1;
  LinkCost enter = {}, leave = {};

  bool at_most(const Pace& other) const;
};

/// What a stage costs as a function of its layers, once its devices are known.
struct StageCost {
  std::vector<Pace> paces = {};  // of its replicas, without those that another is never faster than
  LinkCost reduction = {};       // of gradients over replicas, for each micro-batch
  double memory = std::numeric_limits<double>::infinity();  // bytes, of the smallest device
  int in_flight = 1;                                        // micro-batches

  /// Adds a replica's pace, if it can be the slowest.
  void add(const Pace& pace);
  /// The most work that every replica can do in a second.
  double speed() const;
  /// Seconds that the slowest replica takes for layers [first, last) of one micro-batch.
  double load(const SequenceLoad& sequence, int first, int last) const;
  bool fits(const SequenceLoad& sequence, int first, int last) const {
    return sequence.bytes(first, last, in_flight) <= memory;
  }
};

}  // namespace penstock::partition
