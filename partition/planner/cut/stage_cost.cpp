#include "partition/planner/cut/stage_cost.h"

#include <algorithm>

namespace penstock::partition {

bool Pace::at_most(const Pace& other) const {
  return per_work <= other.per_work && enter.latency <= other.enter.latency &&
         enter.per_unit <= other.enter.per_unit && leave.latency <= other.leave.latency &&
         leave.per_unit <= other.leave.per_unit;
}

// A pace that is at most another one in every respect is never the slowest, whatever the layers.
// Replicas on equal devices with equal links therefore count once.
void StageCost::add(const Pace& pace) {
  for (const Pace& known : paces)
    if (pace.at_most(known)) return;
  std::erase_if(paces, [&](const Pace& known) { return known.at_most(pace); });
  paces.push_back(pace);
}

double StageCost::speed() const {
  double slowest = 0;
  for (const Pace& pace : paces) slowest = std::max(slowest, pace.per_work);
  return 1 / slowest;
}

// All replicas wait for the slowest one, which may be another for other layers: a fast device may
// have a slow link. Gradients are summed after that.
double StageCost::load(const SequenceLoad& sequence, int first, int last) const {
  const double work = sequence.work(first, last);
  double max = 0;
  for (const Pace& pace : paces)
    max = std::max(max, pace.per_work * work + pace.enter.seconds(sequence.crossing(first)) +
                            pace.leave.seconds(sequence.crossing(last)));
  return max + reduction.seconds(sequence.parameters(first, last));
}

}  // namespace penstock::partition
