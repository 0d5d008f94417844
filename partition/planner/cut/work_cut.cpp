#include "partition/planner/cut/work_cut.h"

#include <algorithm>
#include <utility>

#include "partition/planner/cut/limits.h"

namespace penstock::partition {
namespace {

constexpr int kAtOnce = 8;  // last layers per vector; a fixed size needs no remainder loop

/// The first layer of a chunk, with the best value of the layers before it and what loads need.
struct Start {
  double value, before, speed, limit, first;
};

/// Offers the chunk to kAtOnce last layers. All numbers have one type, and all are written
/// unconditionally, so that compilers vectorise the loop.
void offer(const Start start, const double* __restrict before, double* __restrict next,
           double* __restrict firsts) {
  for (int i = 0; i < kAtOnce; ++i) {
    const double load = (before[i] - start.before) / start.speed;
    const double value = start.value + load;
    const bool better = (load <= start.limit) & (value < next[i]);
    next[i] = better ? value : next[i];
    firsts[i] = better ? start.first : firsts[i];
  }
}

}  // namespace

WorkCutSolver::WorkCutSolver(const ChunkWork& work)
    : work_(work), before_(work.before), first_of_(work.speeds.size()) {
  before_.resize(before_.size() + kAtOnce, kInfeasible);
}

std::optional<std::vector<int>> WorkCutSolver::min_sum(double limit,
                                                       const std::vector<int>& earliest_end) {
  best_.assign(before_.size(), kInfeasible);
  best_[0] = 0;
  for (int chunk = 0; chunk < chunks(); ++chunk) {
    next_.assign(before_.size(), kInfeasible);
    first_of_[chunk].assign(before_.size(), -1);
    extend(chunk, limit, earliest_end[chunk]);
    std::swap(best_, next_);
  }
  if (best_[layers()] == kInfeasible) return std::nullopt;
  std::vector<int> begin(chunks() + 1, layers());
  for (int k = chunks(); k > 0; --k) begin[k - 1] = static_cast<int>(first_of_[k - 1][begin[k]]);
  return begin;
}

/// best_k(last) is the least sum of layers [0, last) in k chunks; best_ holds those of k, next_
/// those of k + 1. Values past `end`, which leave too few layers for later chunks, may be written
/// but are not used.
///   best_{k+1}(last) = min over first of best_k(first) + work of [first, last) / speed_k
void WorkCutSolver::extend(int chunk, double limit, int earliest_end) {
  const int behind = chunks() - chunk - 1, end = layers() - behind;
  for (int first = chunk; first < end; ++first) {
    if (best_[first] == kInfeasible) continue;
    const Start start{best_[first], before_[first], work_.speeds[chunk], limit,
                      static_cast<double>(first)};
    int last = behind == 0 ? end : std::max(first + 1, earliest_end);
    // Work grows with `last`, so the first that exceeds the limit ends the loop.
    for (; last <= end && work_.seconds(first, last, chunk) <= limit; last += kAtOnce)
      offer(start, &before_[last], &next_[last], &first_of_[chunk][last]);
  }
}

}  // namespace penstock::partition
