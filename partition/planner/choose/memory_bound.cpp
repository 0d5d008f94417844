#include "partition/planner/choose/memory_bound.h"

#include <algorithm>
#include <functional>

namespace penstock::partition {

MemoryBound::MemoryBound(const PlanningProblem& problem) : problem_(problem) {
  for (int device = 0; device < problem.cluster.size(); ++device)
    usable_.push_back(problem.cluster.usable(device));
  std::ranges::sort(usable_, std::greater{});
}

/// The bytes are those with a sharded optimizer if that may be chosen, which takes least. They do
/// not depend on the batch, so they are cached by replicas alone.
const MemoryBound::Least& MemoryBound::min_of(const BatchChoice& batch, int replicas) {
  const auto [at, fresh] = known_.try_emplace(replicas);
  Least& min = at->second;
  if (!fresh) return min;
  const PlanChoice choice{
      .replicas = replicas,
      .batch = batch,
      .selective = problem_.selective,
      .shards_optimizer = problem_.shards_optimizer.value_or(true) && replicas > 1};
  const ChunkBytes bytes = problem_.bytes(choice);
  const int layers = problem_.sequence->size();
  min.all = bytes.at_least(0, layers);
  for (int layer = 0; layer < layers; ++layer)
    min.largest_layer = std::max(min.largest_layer, bytes.at_least(layer, layer + 1));
  return min;
}

double MemoryBound::fullness(const BatchChoice& batch, const Grid& grid) {
  const Least& min = min_of(batch, grid.replicas);
  double room = 0;  // a stage may use the memory of its smallest device
  for (int stage = 0; stage < grid.stages; ++stage)
    room += usable_[static_cast<std::size_t>((stage + 1) * grid.replicas - 1)];
  const double largest_stage = usable_[static_cast<std::size_t>(grid.replicas - 1)];
  return std::max(min.all / room, min.largest_layer / largest_stage);
}

}  // namespace penstock::partition
