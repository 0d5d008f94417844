#include "partition/planner/search/problem.h"

#include <algorithm>

#include "partition/planner/simulate/memory.h"

namespace penstock::partition {

int ScheduleProblem::ranks() const { return *std::ranges::max_element(chunk_rank) + 1; }

double ScheduleProblem::transfer_after(int chunk) const {
  const bool crosses = chunk + 1 < chunks() && chunk_rank[chunk] != chunk_rank[chunk + 1];
  return crosses && !transfers.empty() ? transfers[chunk] : 0;
}

Durations ScheduleProblem::durations(const std::vector<int>& order) const {
  auto ordered = times;
  for (int chunk = 0; chunk < chunks(); ++chunk) {
    for (int place = 0; place < micro_batches(); ++place) {
      ordered[chunk][place] = times[chunk][order[place]];
    }
  }
  Durations durations = unequal_micro_batches(std::move(ordered));
  // A gradient between two chunks takes as long as the activation between them.
  durations.transfer = [this](const Edge& edge, int) {
    return transfer_after(std::min(edge.producer, edge.consumer));
  };
  return durations;
}

double ScheduleProblem::peak(const Schedule& schedule, const std::vector<int>& order) const {
  const Simulation run = simulate(schedule, durations(order));
  const auto memory_of = [&](int chunk, int place) {
    return HeldBytes{.to_weight_gradient = held_by(chunk, order[place])};
  };
  return std::ranges::max(peaks(memory_over_time(run, memory_of)));
}

}  // namespace penstock::partition
