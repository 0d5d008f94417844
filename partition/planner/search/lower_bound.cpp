#include "partition/planner/search/lower_bound.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace penstock::partition {
namespace {

double forward(const ChunkTimes& t) { return t.forward; }
double weight(const ChunkTimes& t) { return t.backward_weight; }
double gradients(const ChunkTimes& t) { return t.backward_input + t.backward_weight; }
double total(const ChunkTimes& t) { return t.total(); }

/// RankBound computes the bound that one rank gives. See lower_bound.h.
class RankBound {
 public:
  RankBound(const ScheduleProblem& problem, int rank) : problem_(problem) {
    for (int chunk = 0; chunk < problem.chunks(); ++chunk) {
      if (problem.chunk_rank[chunk] == rank) chunks_.push_back(chunk);
    }
  }

  double seconds() const {
    const double work = all(total);
    // Seconds until its first forward starts.
    const double filled = min([&](int chunk, int batch) { return forwards(0, chunk, batch); });
    // `turned` is the time from the first start on any rank to the start of this rank's first input
    // gradient. `behind` is the work that this rank then still has to do: at least all but the
    // forwards of what it can hold.
    const auto first_gradient = [&](int chunk, int batch) {
      return to_loss(0, batch) + inputs(last(), chunk, batch) -
             problem_.times[chunk][batch].backward_input;
    };
    const double turned = min(first_gradient);
    const double behind = work - in_memory(forward);
    // Seconds from the end of this rank's last forward to the last end on any rank.
    const double returned = min([&](int chunk, int batch) {
      return to_loss(chunk, batch) + inputs(last(), 0, batch) +
             problem_.times[0][batch].backward_weight - problem_.times[chunk][batch].forward;
    });
    // Seconds from the end of this rank's last input gradient to the last end on any rank.
    const double drained = min([&](int chunk, int batch) {
      return inputs(chunk, 0, batch) - problem_.times[chunk][batch].backward_input +
             problem_.times[0][batch].backward_weight;
    });
    // When its last input gradient ends, only weight gradients of what it can hold are left. So the
    // time before that end is at least the rest of its work.
    double bound =
        std::max({filled + work, turned + behind, filled + work - in_memory(weight) + drained});
    // When its last forward ends, only gradients of what it can hold are left. It cannot hold
    // everything, so its first input gradient has ended before, and both times count.
    if (limited()) {
      const double late = in_memory(gradients);
      bound = std::max({bound, filled + work - late + returned, turned + behind - late + returned});
    }
    return bound;
  }

 private:
  int last() const { return problem_.chunks() - 1; }

  /// Returns the seconds of the forwards of chunks [from, to), with the messages after them.
  double forwards(int from, int to, int batch) const {
    double seconds = 0;
    for (int chunk = from; chunk < to; ++chunk) {
      seconds += problem_.times[chunk][batch].forward + problem_.transfer_after(chunk);
    }
    return seconds;
  }
  double to_loss(int from, int batch) const { return forwards(from, problem_.chunks(), batch); }

  /// Returns the seconds of the input gradients of chunks `from` down to `to`, with the messages
  /// between them.
  double inputs(int from, int to, int batch) const {
    double seconds = 0;
    for (int chunk = from; chunk >= to; --chunk) {
      seconds += problem_.times[chunk][batch].backward_input;
      if (chunk > to) seconds += problem_.transfer_after(chunk - 1);
    }
    return seconds;
  }

  /// Returns the minimum over the rank's chunks and all micro-batches.
  template <class Seconds>
  double min(Seconds seconds) const {
    double min = std::numeric_limits<double>::infinity();
    for (const int chunk : chunks_) {
      for (int batch = 0; batch < problem_.micro_batches(); ++batch) {
        min = std::min(min, seconds(chunk, batch));
      }
    }
    return min;
  }

  /// Returns the sum over the rank's chunks and all micro-batches.
  double all(double (*part)(const ChunkTimes&)) const {
    double sum = 0;
    for (const int chunk : chunks_) {
      for (const ChunkTimes& times : problem_.times[chunk]) sum += part(times);
    }
    return sum;
  }

  /// Returns true if the rank cannot hold all micro-batches at once.
  bool limited() const {
    double held = 0;
    for (const int chunk : chunks_) {
      for (int batch = 0; batch < problem_.micro_batches(); ++batch) {
        held += problem_.held_by(chunk, batch);
      }
    }
    return !problem_.fits(held);
  }

  /// Returns an upper bound of `part` over what the rank can hold at once: the fractional knapsack.
  /// Items are taken by value per memory, and the last one in part.
  double in_memory(double (*part)(const ChunkTimes&)) const {
    if (!limited()) return all(part);
    std::vector<std::pair<double, double>> items;  // (seconds, memory)
    for (const int chunk : chunks_) {
      for (int batch = 0; batch < problem_.micro_batches(); ++batch) {
        items.emplace_back(part(problem_.times[chunk][batch]), problem_.held_by(chunk, batch));
      }
    }
    std::ranges::sort(items, [](const auto& a, const auto& b) {
      return a.first * b.second > b.first * a.second;
    });
    double seconds = 0, room = problem_.memory;  // memory that is left
    for (const auto& [value, held] : items) {
      const double share = held <= room ? 1 : room / held;
      seconds += share * value;
      room -= share * held;
    }
    return seconds;
  }

  const ScheduleProblem& problem_;
  std::vector<int> chunks_;
};

}  // namespace

double lower_bound(const ScheduleProblem& problem) {
  double bound = 0;
  for (int rank = 0; rank < problem.ranks(); ++rank) {
    bound = std::max(bound, RankBound(problem, rank).seconds());
  }
  return bound;
}

}  // namespace penstock::partition
