#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "partition/planner/choose/problem.h"
#include "partition/planner/choose/unplaced_candidates.h"

namespace penstock::partition {

/// Memory that the stages of a candidate may use, and memory that they need. Bytes are those of the
/// runtime.
class StageMemory {
 public:
  /// `candidate` needs no cut yet. A stage may use the memory of its smallest device, less the
  /// cluster's margin.
  StageMemory(const PlanningProblem& problem, const Candidate& candidate);

  /// Bytes that a stage may use.
  double limit(int stage) const { return limits_[stage]; }
  /// Returns the bytes of layers [first, last) as that chunk, alone on its rank, on the replica
  /// that needs most.
  double of_chunk(int first, int last, int chunk) const;
  /// True if of_chunk() is within limit_of_chunk().
  bool fits(int first, int last, int chunk) const {
    return bytes_.fits(first, last, chunk, limit_of_chunk(chunk));
  }
  /// Returns a lower bound on of_chunk() / limit_of_chunk(), from parameters alone. It is additive
  /// over neighbouring ranges.
  double fullness_at_least(int first, int last, int chunk) const;
  /// Returns the bytes of every stage with all of its chunks. `begin` is as in Candidate.
  std::vector<double> of_stages(const std::vector<int>& begin) const;
  /// Returns how many micro-batches fit into a stage's memory between forward and weight gradient,
  /// on all of its chunks. At least 1, at most `max`.
  int capacity(const std::vector<int>& begin, int stage, int max) const;
  /// Returns the peak bytes that micro-batches in flight hold, by chunk.
  std::vector<double> slots(const std::vector<int>& begin) const;
  /// Returns the stage that exceeds its limit by the largest factor, if any does.
  std::optional<int> too_full(const std::vector<int>& begin) const;
  /// Returns a chunk's equal share of its stage's limit.
  double limit_of_chunk(int chunk) const;
  const ChunkBytes& bytes() const { return bytes_; }
  int stages() const { return static_cast<int>(limits_.size()); }
  int stage_of(int chunk) const { return ranks_[chunk]; }
  const std::vector<int>& stage_of_chunks() const { return ranks_; }
  int chunks() const { return static_cast<int>(ranks_.size()); }

 private:
  ChunkBytes bytes_;
  std::vector<int> ranks_;  // stage of each chunk
  std::vector<double> limits_;
};

/// The cut whose fullest stage is least full. Fullness is bytes over the stage's limit: 1 is full.
/// Each chunk counts as if all chunks of its stage were like it.
struct LeastFullCut {
  std::vector<int> begin;
  int stage = 0;
  double bytes = 0, fullness = 0;
};
/// Returns the least full cut. If there is none, `begin` is empty and `fullness` is kInfeasible.
LeastFullCut min_full_cut(const StageMemory& memory, int layers);

/// Refutes stages and replicas that can't fit into memory, by the bytes of parameters alone. It
/// holds for any cut, schedule, recomputation and placement.
class MemoryBound {
 public:
  explicit MemoryBound(const PlanningProblem& problem);

  /// Returns a lower bound on the fullness of the fullest stage: bytes / usable bytes, 1 if full, 0
  /// if memory is unlimited. It is the larger of two. One spreads all parameters over stages that
  /// take the devices with the most memory. The other puts the largest layer on the first of these
  /// stages.
  double fullness(const BatchDivision& batch, const Grid& grid);
  bool can_fit(const UnplacedCandidate& unplaced) {
    return fullness(unplaced.batch, unplaced.grid) <= 1;
  }

 private:
  struct Least {
    double all = 0, largest_layer = 0;  // bytes
  };
  const Least& min_of(const BatchDivision& batch, int replicas);

  const PlanningProblem& problem_;
  std::vector<double> usable_;  // of each device, in falling order
  std::map<int, Least> known_;  // by replicas
};

}  // namespace penstock::partition
