#include "partition/simulate/memory.h"

#include <algorithm>

namespace penstock::partition {

std::vector<std::vector<MemoryPoint>> memory_over_time(
    const Simulation& simulation,
    const std::function<HeldBytes(int chunk, int micro_batch)>& bytes_of) {
  std::vector<std::vector<MemoryPoint>> memory;
  for (const auto& list : simulation.ranks) {
    auto& points = memory.emplace_back();
    double bytes = 0;
    for (const TimedAction& timed : list) {
      if (!computes(timed.action.kind)) continue;
      const HeldBytes held = bytes_of(timed.action.chunk, timed.action.micro_batch);
      const ActionKind kind = timed.action.kind;
      if (kind == ActionKind::forward) {
        bytes += held.to_input_gradient + held.to_weight_gradient;
        points.push_back({timed.start, bytes});
        continue;
      }
      if (kind != ActionKind::backward_weight) bytes -= held.to_input_gradient;
      if (kind != ActionKind::backward_input) bytes -= held.to_weight_gradient;
      points.push_back({timed.end, bytes});
    }
  }
  return memory;
}

std::vector<double> peaks(const std::vector<std::vector<MemoryPoint>>& memory) {
  std::vector<double> most;
  for (const auto& points : memory) {
    double& peak = most.emplace_back(0);
    for (const MemoryPoint& point : points) peak = std::max(peak, point.bytes);
  }
  return most;
}

std::vector<int> peak_activations(const Schedule& schedule) {
  std::vector<int> most;
  for (const auto& list : schedule.ranks) {
    int& peak = most.emplace_back(0);
    int held = 0;
    for (const Action& action : list) {
      if (action.kind == ActionKind::forward) peak = std::max(peak, ++held);
      if (action.kind == ActionKind::backward || action.kind == ActionKind::backward_weight ||
          (schedule.forward_only && action.kind == ActionKind::forward)) {
        --held;
      }
    }
  }
  return most;
}

}  // namespace penstock::partition
