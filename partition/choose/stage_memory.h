#pragma once

#include <optional>
#include <string>
#include <vector>

#include "partition/choose/problem.h"

namespace penstock::partition {

/// What the stages of a choice may take of memory, and would. Bytes are the runtime's own.
class StageMemory {
 public:
  /// `choice` needs no cut yet. A stage may take what the smallest of its devices has, less the
  /// cluster's margin.
  StageMemory(const PlanningProblem& problem, const PlanChoice& choice);

  double limit(int stage) const { return limits_[stage]; }
  /// Of layers [first, last) as that chunk, alone on its rank, on the replica that needs most.
  double of_chunk(int first, int last, int chunk) const;
  /// Whether that is within limit_of_chunk().
  bool fits(int first, int last, int chunk) const {
    return bytes_.fits(first, last, chunk, limit_of_chunk(chunk));
  }
  /// Of what that chunk may take, the share that parameters of layers [first, last) take at least:
  /// shares of neighbouring ranges add up.
  double fullness_at_least(int first, int last, int chunk) const;
  /// Of every stage with all of its chunks; `begin` as in PlanChoice.
  std::vector<double> of_stages(const std::vector<int>& begin) const;
  /// How many micro-batches a stage has room for between forward and weight gradient on all of its
  /// chunks, at most `most`; at least 1.
  int capacity(const std::vector<int>& begin, int stage, int most) const;
  /// What micro-batches in flight hold on every chunk at most.
  std::vector<double> slots(const std::vector<int>& begin) const;
  /// The stage that has the least room for what it needs, if any has too little.
  std::optional<int> too_full(const std::vector<int>& begin) const;
  /// What that chunk may take so that it leaves enough for its stage's others, if all are alike.
  double limit_of_chunk(int chunk) const;
  const ChunkBytes& bytes() const { return bytes_; }
  int stages() const { return static_cast<int>(limits_.size()); }
  int stage_of(int chunk) const { return ranks_[chunk]; }
  const std::vector<int>& stage_of_chunks() const { return ranks_; }
  int chunks() const { return static_cast<int>(ranks_.size()); }

 private:
  ChunkBytes bytes_;
  std::vector<int> ranks_;  // of each chunk: its stage
  std::vector<double> limits_;
};

/// The cut whose fullest stage is least full, as far as chunks of a stage are alike, and how full
/// that is: 1 is all that it may take.
struct LeastFullCut {
  std::vector<int> begin;
  int stage = 0;
  double bytes = 0, fullness = 0;
};
LeastFullCut least_full_cut(const StageMemory& memory, int layers);

}  // namespace penstock::partition
