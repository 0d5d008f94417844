#include "partition/choose/memory_bound.h"

#include <algorithm>
#include <functional>

namespace penstock::partition {

MemoryBound::MemoryBound(const PlanningProblem& problem) : problem_(problem) {
  for (int device = 0; device < problem.cluster.size(); ++device)
    usable_.push_back(problem.cluster.usable(device));
  std::ranges::sort(usable_, std::greater{});
}

/// Parameters take least where replicas share the update. No batch changes them.
const MemoryBound::Least& MemoryBound::least_of(const BatchChoice& batch, int replicas) {
  const auto [at, fresh] = known_.try_emplace(replicas);
  Least& least = at->second;
  if (!fresh) return least;
  const PlanChoice choice{
      .replicas = replicas,
      .batch = batch,
      .selective = problem_.selective,
      .shards_optimizer = problem_.shards_optimizer.value_or(true) && replicas > 1};
  const ChunkBytes bytes = problem_.bytes(choice);
  const int layers = problem_.sequence->size();
  least.all = bytes.at_least(0, layers);
  for (int layer = 0; layer < layers; ++layer)
    least.largest_layer = std::max(least.largest_layer, bytes.at_least(layer, layer + 1));
  return least;
}

double MemoryBound::fullness(const BatchChoice& batch, const Grid& grid) {
  const Least& least = least_of(batch, grid.replicas);
  double room = 0;  // a stage has that of the smallest of its devices
  for (int stage = 0; stage < grid.stages; ++stage)
    room += usable_[static_cast<std::size_t>((stage + 1) * grid.replicas - 1)];
  const double largest_stage = usable_[static_cast<std::size_t>(grid.replicas - 1)];
  return std::max(least.all / room, least.largest_layer / largest_stage);
}

}  // namespace penstock::partition
