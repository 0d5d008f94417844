#include "partition/planner/simulate/memory.h"

#include <algorithm>
#include <utility>

namespace penstock::partition {

namespace {

using BytesOf = std::function<HeldBytes(int chunk, int micro_batch)>;

/// The change of a rank's memory at a time.
struct Growth {
  double time = 0, bytes = 0;
};

double all_of(const HeldBytes& held) { return held.to_input_gradient + held.to_weight_gradient; }

/// Returns the growth at the start of each forward, and the release at the end of each backward or
/// part of it.
std::vector<Growth> growths_of(const std::vector<TimedAction>& list, const BytesOf& bytes_of) {
  std::vector<Growth> growths;
  for (const TimedAction& timed : list) {
    if (!computes(timed.action.kind)) continue;
    const HeldBytes held = bytes_of(timed.action.chunk, timed.action.micro_batch);
    const ActionKind kind = timed.action.kind;
    if (kind == ActionKind::forward) {
      growths.push_back({timed.start, all_of(held)});
      continue;
    }
    double bytes = 0;
    if (kind != ActionKind::backward_weight) bytes -= held.to_input_gradient;
    if (kind != ActionKind::backward_input) bytes -= held.to_weight_gradient;
    growths.push_back({timed.end, bytes});
  }
  return growths;
}

/// Adds the copies. Offloaded activations leave the device at the end of the offload, and take
/// memory again from the start of the reload.
void add_copies(const std::vector<TimedAction>& copies, const BytesOf& bytes_of,
                std::vector<Growth>& growths) {
  for (const TimedAction& timed : copies) {
    const double held = all_of(bytes_of(timed.action.chunk, timed.action.micro_batch));
    const bool leaves = timed.action.kind == ActionKind::offload;
    growths.push_back(leaves ? Growth{timed.end, -held} : Growth{timed.start, held});
  }
  std::ranges::stable_sort(growths, {}, [](const Growth& growth) {
    // Memory that is freed at a time can be taken at the same time.
    return std::pair(growth.time, growth.bytes > 0);
  });
}

}  // namespace

// Memory is a running sum over changes, in order of time. Actions of a rank are in order already,
// and copies beside them are sorted in.
std::vector<std::vector<MemoryPoint>> memory_over_time(const Simulation& simulation,
                                                       const BytesOf& bytes_of) {
  std::vector<std::vector<MemoryPoint>> memory;
  for (std::size_t rank = 0; rank < simulation.ranks.size(); ++rank) {
    std::vector<Growth> growths = growths_of(simulation.ranks[rank], bytes_of);
    if (!simulation.copies.empty()) add_copies(simulation.copies[rank], bytes_of, growths);
    auto& points = memory.emplace_back();
    double bytes = 0;
    for (const Growth& growth : growths) points.push_back({growth.time, bytes += growth.bytes});
  }
  return memory;
}

std::vector<double> peaks(const std::vector<std::vector<MemoryPoint>>& memory) {
  std::vector<double> max;
  for (const auto& points : memory) {
    double& peak = max.emplace_back(0);
    for (const MemoryPoint& point : points) peak = std::max(peak, point.bytes);
  }
  return max;
}

// No times are needed: on one rank only the order of its list matters.
std::vector<int> peak_activations(const Schedule& schedule) {
  std::vector<int> max;
  for (const auto& list : schedule.ranks) {
    int& peak = max.emplace_back(0);
    int held = 0;
    for (const Action& action : list) {
      if (action.kind == ActionKind::forward) peak = std::max(peak, ++held);
      if (action.kind == ActionKind::backward || action.kind == ActionKind::backward_weight ||
          (schedule.forward_only && action.kind == ActionKind::forward)) {
        --held;
      }
    }
  }
  return max;
}

}  // namespace penstock::partition
