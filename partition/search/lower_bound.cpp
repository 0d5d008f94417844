#include "partition/search/lower_bound.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace penstock::partition {
namespace {

double forward(const ChunkTimes& t) { return t.forward; }
double weight(const ChunkTimes& t) { return t.backward_weight; }
double gradients(const ChunkTimes& t) { return t.backward_input + t.backward_weight; }
double total(const ChunkTimes& t) { return t.total(); }

/// One rank's part of a step.
class RankBound {
 public:
  RankBound(const ScheduleProblem& problem, int rank) : problem_(problem) {
    for (int chunk = 0; chunk < problem.chunks(); ++chunk) {
      if (problem.chunk_rank[chunk] == rank) chunks_.push_back(chunk);
    }
  }

  double seconds() const {
    const double work = all(total);
    // Until its first forward starts.
    const double filled = least([&](int chunk, int batch) { return forwards(0, chunk, batch); });
    // From the first start on any rank to the start of this rank's first input gradient, and what
    // this rank is still to do then: all but forwards of what it can hold, at least.
    const auto first_gradient = [&](int chunk, int batch) {
      return to_loss(0, batch) + inputs(last(), chunk, batch) -
             problem_.times[chunk][batch].backward_input;
    };
    const double turned = least(first_gradient);
    const double behind = work - in_memory(forward);
    // From the end of this rank's last forward to the last end on any rank.
    const double returned = least([&](int chunk, int batch) {
      return to_loss(chunk, batch) + inputs(last(), 0, batch) +
             problem_.times[0][batch].backward_weight - problem_.times[chunk][batch].forward;
    });
    // From the end of this rank's last input gradient.
    const double drained = least([&](int chunk, int batch) {
      return inputs(chunk, 0, batch) - problem_.times[chunk][batch].backward_input +
             problem_.times[0][batch].backward_weight;
    });
    // When its last input gradient ends, all is done but weight gradients of what it can hold. So
    // what lies in front of that end takes at least the rest of its work.
    double bound =
        std::max({filled + work, turned + behind, filled + work - in_memory(weight) + drained});
    // When its last forward ends, all is done but gradients of what it can hold. As it can't hold
    // everything, its first input gradient has ended before, and both stretches count.
    if (limited()) {
      const double late = in_memory(gradients);
      bound = std::max({bound, filled + work - late + returned, turned + behind - late + returned});
    }
    return bound;
  }

 private:
  int last() const { return problem_.chunks() - 1; }

  /// Forwards of chunks [from, to), with the messages behind them.
  double forwards(int from, int to, int batch) const {
    double seconds = 0;
    for (int chunk = from; chunk < to; ++chunk) {
      seconds += problem_.times[chunk][batch].forward + problem_.transfer_behind(chunk);
    }
    return seconds;
  }
  double to_loss(int from, int batch) const { return forwards(from, problem_.chunks(), batch); }

  /// Input gradients of chunks `from` down to `to`, with the messages between them.
  double inputs(int from, int to, int batch) const {
    double seconds = 0;
    for (int chunk = from; chunk >= to; --chunk) {
      seconds += problem_.times[chunk][batch].backward_input;
      if (chunk > to) seconds += problem_.transfer_behind(chunk - 1);
    }
    return seconds;
  }

  template <class Seconds>
  double least(Seconds seconds) const {
    double least = std::numeric_limits<double>::infinity();
    for (const int chunk : chunks_) {
      for (int batch = 0; batch < problem_.micro_batches(); ++batch) {
        least = std::min(least, seconds(chunk, batch));
      }
    }
    return least;
  }

  double all(double (*part)(const ChunkTimes&)) const {
    double sum = 0;
    for (const int chunk : chunks_) {
      for (const ChunkTimes& times : problem_.times[chunk]) sum += part(times);
    }
    return sum;
  }

  /// Whether the rank can't hold all micro-batches at once.
  bool limited() const {
    double held = 0;
    for (const int chunk : chunks_) {
      for (int batch = 0; batch < problem_.micro_batches(); ++batch) {
        held += problem_.held_by(chunk, batch);
      }
    }
    return !problem_.fits(held);
  }

  /// The most of `part` for what the rank can hold at once: by value for memory, the last in
  /// part.
  double in_memory(double (*part)(const ChunkTimes&)) const {
    if (!limited()) return all(part);
    std::vector<std::pair<double, double>> items;  // seconds, memory
    for (const int chunk : chunks_) {
      for (int batch = 0; batch < problem_.micro_batches(); ++batch) {
        items.emplace_back(part(problem_.times[chunk][batch]), problem_.held_by(chunk, batch));
      }
    }
    std::ranges::sort(items, [](const auto& a, const auto& b) {
      return a.first * b.second > b.first * a.second;
    });
    double seconds = 0, room = problem_.memory;  // `room` is left by those worth more
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
