#include "partition/planner/cut/sweep.h"

#include <algorithm>

#include "partition/planner/cut/limits.h"

namespace penstock::partition {

Sweep::Sweep(const SequenceLoad& sequence, const std::vector<StageCost>& stages)
    : sequence_(sequence), stages_(stages), speed_left_(stages.size() + 1, 0) {
  for (std::size_t k = stages.size(); k > 0; --k)
    speed_left_[k - 1] = speed_left_[k] + stages[k - 1].speed();
}

/// The cost of a stage; infinite if its load is above `limit`, or if the stages after it can't do
/// the rest within the limit.
struct Sweep::Segment : SegmentCost {
  const SequenceLoad& sequence;
  const StageCost& cost_of;
  double limit, reach, max_bytes, rest;  // the last three include a margin for rounding

  bool ends(int first, int last) const {
    return sequence.work(first, last) > reach ||
           sequence.bytes_at_least(first, last, cost_of.in_flight) > max_bytes;
  }
  double at_least(int first, int last) const {
    if (sequence.work(last, sequence.size()) > rest) return kInfeasible;
    const double load = cost_of.load(sequence, first, last);
    return load > limit ? kInfeasible : load;
  }
  double cost(int first, int last, double load) const {
    return cost_of.fits(sequence, first, last) ? load : kInfeasible;
  }
};

Sweep::Segment Sweep::segment(int stage, double limit) const {
  const StageCost& cost = stages_[stage];
  return {{},
          sequence_,
          cost,
          limit,
          limit * cost.speed() * kRounding,
          cost.memory * kRounding,
          limit * speed_left_[stage + 1] * kRounding};
}

CutShape Sweep::shape() const {
  return {.layers = sequence_.size(), .segments = static_cast<int>(stages_.size())};
}

std::optional<std::vector<int>> Sweep::min_sum(double limit) const {
  return CutSolver<MinSum>(shape()).begin([&](int stage) { return segment(stage, limit); });
}

std::optional<double> Sweep::min_slowest(double limit) const {
  return CutSolver<MinLargest>(shape()).value([&](int stage) { return segment(stage, limit); });
}

// No load exceeds that of all layers on the slowest replica, with the largest messages at both
// ends.
double Sweep::max() const {
  double max = 0;
  for (const StageCost& cost : stages_)
    for (const Pace& pace : cost.paces)
      max = std::max(max, pace.per_work * sequence_.work(0, sequence_.size()) +
                              pace.enter.seconds(sequence_.max_crossing()) +
                              pace.leave.seconds(sequence_.max_crossing()) +
                              cost.reduction.seconds(sequence_.parameters(0, sequence_.size())));
  return max * kRounding;
}

// The slowest stage takes at least as long as all work divided evenly by speed, and as the longest
// layer on the fastest stage. Messages are not counted.
double Sweep::floor_of_slowest() const {
  double fastest = 0;
  for (const StageCost& cost : stages_) fastest = std::max(fastest, cost.speed());
  return std::max(sequence_.work(0, sequence_.size()) / speed_left_[0],
                  sequence_.longest_layer() / fastest) /
         kRounding;
}

double Sweep::floor_of_sum() const {
  double fastest = 0;
  for (const StageCost& cost : stages_) fastest = std::max(fastest, cost.speed());
  return sequence_.work(0, sequence_.size()) / fastest / kRounding;
}

}  // namespace penstock::partition
