#include "partition/planner/choose/stage_memory.h"

#include <algorithm>
#include <functional>

#include "partition/planner/choose/candidate_estimate.h"
#include "partition/planner/cut/cut_solver.h"
#include "partition/planner/cut/limits.h"
#include "partition/planner/cut/rest_bound.h"

namespace penstock::partition {

StageMemory::StageMemory(const PlanningProblem& problem, const Candidate& candidate)
    : bytes_(problem.model.bytes(candidate)), ranks_(ranks_of_chunks(candidate)) {
  for (const auto& devices : candidate.devices) {
    double& limit = limits_.emplace_back(kInfeasible);
    for (const int device : devices) limit = std::min(limit, problem.cluster.usable(device));
  }
}

double StageMemory::of_chunk(int first, int last, int chunk) const {
  return static_cast<double>(bytes_(first, last, chunk).total());
}

double StageMemory::fullness_at_least(int first, int last, int chunk) const {
  return bytes_.at_least(first, last) / limit_of_chunk(chunk);
}

std::vector<double> StageMemory::of_stages(const std::vector<int>& begin) const {
  std::vector<std::vector<ChunkRange>> held(limits_.size());
  for (int chunk = 0; chunk < chunks(); ++chunk)
    held[ranks_[chunk]].push_back({begin[chunk], begin[chunk + 1], chunk});
  std::vector<double> bytes;
  for (const auto& chunks_of_stage : held)
    bytes.push_back(static_cast<double>(bytes_(chunks_of_stage).total()));
  return bytes;
}

int StageMemory::capacity(const std::vector<int>& begin, int stage, int max) const {
  std::vector<ChunkRange> own;
  for (int chunk = 0; chunk < chunks(); ++chunk)
    if (ranks_[chunk] == stage) own.push_back({begin[chunk], begin[chunk + 1], chunk});
  int capacity = max;
  for (; capacity > 1; --capacity) {
    const auto needed = bytes_.holding(in_flight_of(capacity))(own).total();
    if (static_cast<double>(needed) <= limits_[stage]) break;
  }
  return capacity;
}

std::vector<double> StageMemory::slots(const std::vector<int>& begin) const {
  std::vector<double> bytes;
  for (int chunk = 0; chunk < chunks(); ++chunk)
    bytes.push_back(
        static_cast<double>(bytes_.buffers(begin[chunk], begin[chunk + 1], chunk).slots));
  return bytes;
}

std::optional<int> StageMemory::too_full(const std::vector<int>& begin) const {
  const auto bytes = of_stages(begin);
  std::optional<int> worst;
  for (int stage = 0; stage < std::ssize(bytes); ++stage) {
    if (bytes[stage] <= limits_[stage]) continue;
    if (!worst || bytes[stage] / limits_[stage] > bytes[*worst] / limits_[*worst]) worst = stage;
  }
  return worst;
}

double StageMemory::limit_of_chunk(int chunk) const {
  return limits_[ranks_[chunk]] / static_cast<double>(std::ranges::count(ranks_, ranks_[chunk]));
}

namespace {

/// The fullness of a stage if all of its chunks are like [first, last). It is infinite above
/// `limit`, and for a range after which the rest can't stay within `limit`.
struct Fullness : SegmentCost {
  const StageMemory& memory;
  int chunk;
  double limit = kInfeasible;
  const RestBound* rest = nullptr;

  bool ends(int first, int last) const {
    return memory.fullness_at_least(first, last, chunk) > limit;
  }
  double bytes(int first, int last) const {
    const double alike = static_cast<double>(memory.chunks()) / memory.stages();
    return alike * memory.of_chunk(first, last, chunk);
  }
  double at_least(int first, int last) const {
    if (rest != nullptr && rest->largest(last, chunk + 1) > limit) return kInfeasible;
    const double fullness = bytes(first, last) / memory.limit(memory.stage_of(chunk));
    return fullness > limit ? kInfeasible : fullness;
  }
};

/// Returns the true fullness of the cut that is least full by parameters alone.
double fullness_by_parameters(const StageMemory& memory, const CutShape& shape) {
  struct Parameters : SegmentCost {
    const StageMemory& memory;
    int chunk;
    double at_least(int first, int last) const {
      return memory.fullness_at_least(first, last, chunk);
    }
  };
  const auto begin = CutSolver<MinLargest>(shape).begin([&](int chunk) {
    return Parameters{{}, memory, chunk};
  });
  double max = 0;
  for (int chunk = 0; begin && chunk < memory.chunks(); ++chunk)
    max = std::max(max, Fullness{{}, memory, chunk}.at_least((*begin)[chunk], (*begin)[chunk + 1]));
  return begin ? max : kInfeasible;
}

}  // namespace

// A cheap cut by parameters alone gives an upper bound. Within that bound, a min-max dynamic
// programme over (chunk, last layer) finds the optimum: O(chunks · layers²) ranges at most.
LeastFullCut min_full_cut(const StageMemory& memory, int layers) {
  const CutShape shape{.layers = layers, .segments = memory.chunks()};
  const double limit = fullness_by_parameters(memory, shape);
  const RestBound rest(shape, [&](int first, int last, int chunk) {
    return memory.fullness_at_least(first, last, chunk);
  });
  const auto begin = CutSolver<MinLargest>(shape).begin([&](int chunk) {
    return Fullness{{}, memory, chunk, limit, &rest};
  });
  if (!begin) return {.begin = {}, .fullness = kInfeasible};
  LeastFullCut cut{.begin = *begin};
  for (int chunk = 0; chunk < memory.chunks(); ++chunk) {
    const int first = cut.begin[chunk], last = cut.begin[chunk + 1];
    const Fullness full{{}, memory, chunk};
    const double fullness = full.at_least(first, last);
    if (fullness > cut.fullness)
      cut = {cut.begin, memory.stage_of(chunk), full.bytes(first, last), fullness};
  }
  return cut;
}

MemoryBound::MemoryBound(const PlanningProblem& problem) : problem_(problem) {
  for (int device = 0; device < problem.cluster.size(); ++device)
    usable_.push_back(problem.cluster.usable(device));
  std::ranges::sort(usable_, std::greater{});
}

/// The bytes are those with a sharded optimizer if that may be chosen, which takes least. They do
/// not depend on the batch, so they are cached by replicas alone.
const MemoryBound::Least& MemoryBound::min_of(const BatchDivision& batch, int replicas) {
  const auto [at, fresh] = known_.try_emplace(replicas);
  Least& min = at->second;
  if (!fresh) return min;
  const Candidate candidate{
      .replicas = replicas,
      .batch = batch,
      .selective = problem_.constraints.selective,
      .shards_optimizer = problem_.constraints.shards_optimizer.value_or(true) && replicas > 1};
  const ChunkBytes bytes = problem_.model.bytes(candidate);
  const int layers = problem_.model.sequence->size();
  min.all = bytes.at_least(0, layers);
  for (int layer = 0; layer < layers; ++layer)
    min.largest_layer = std::max(min.largest_layer, bytes.at_least(layer, layer + 1));
  return min;
}

double MemoryBound::fullness(const BatchDivision& batch, const Grid& grid) {
  const Least& min = min_of(batch, grid.replicas);
  double room = 0;  // a stage may use the memory of its smallest device
  for (int stage = 0; stage < grid.stages; ++stage)
    room += usable_[static_cast<std::size_t>((stage + 1) * grid.replicas - 1)];
  const double largest_stage = usable_[static_cast<std::size_t>(grid.replicas - 1)];
  return std::max(min.all / room, min.largest_layer / largest_stage);
}

}  // namespace penstock::partition
