#include "partition/planner/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace penstock::partition {

// Seven lanes and three replicas give 3, 2 and 2.
std::vector<int> deal_lanes(int lanes, int replicas) {
  std::vector<int> owned;
  for (int replica = 0; replica < replicas; ++replica) {
    owned.push_back(lanes / replicas + (replica < lanes % replicas ? 1 : 0));
  }
  return owned;
}

std::vector<int> Plan::cut() const {
  std::vector<int> begin;
  for (const ChunkPlan& chunk : chunks) begin.push_back(chunk.first);
  begin.push_back(chunks.empty() ? 0 : chunks.back().last());
  return begin;
}

// Every chunk carries the bytes of its whole stage, so the stage's first chunk will do.
const StageBytes& Plan::bytes_of(int stage) const {
  for (const ChunkPlan& chunk : chunks)
    if (chunk.stage == stage) return chunk.predicted.bytes;
  throw std::out_of_range(fmt::format("the plan has no chunk on stage {}", stage));
}

StageReplica Plan::place_of(int rank) const {
  for (int stage = 0; stage < stages(); ++stage) {
    for (int replica = 0; replica < replicas(); ++replica) {
      if (ranks[stage][replica] == rank) return {stage, replica};
    }
  }
  throw std::out_of_range(
      fmt::format("the plan has {} ranks, none of them is {}", world_size(), rank));
}

// Chunks follow each other in the layer sequence, so their layers are appended in its order. A plan
// either has the list on all chunks or on none (file/rules.cpp).
std::optional<ChosenLayers> Plan::recomputed() const {
  ChosenLayers chosen;
  bool said = false;
  for (const ChunkPlan& chunk : chunks) {
    said |= chunk.recomputed.has_value();
    for (const std::string& layer : chunk.layers)
      chosen.push_back(chunk.recomputed && std::ranges::count(*chunk.recomputed, layer) > 0);
  }
  return said ? std::optional(chosen) : std::nullopt;
}

// Messages of a pipeline pass once for each micro-batch, gradients of replicas once for each step.
// So a pipeline's ranks get neighbouring numbers, which mpirun puts on one node as far as they fit.
std::vector<std::vector<int>> neighbouring_stages(int stages, int replicas) {
  std::vector<std::vector<int>> ranks(stages, std::vector<int>(replicas));
  for (int stage = 0; stage < stages; ++stage) {
    for (int replica = 0; replica < replicas; ++replica) {
      ranks[stage][replica] = replica * stages + stage;
    }
  }
  return ranks;
}

}  // namespace penstock::partition
