#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "partition/cut/limits.h"

namespace penstock::partition {

/// Which of the cuts of equal value is taken: one whose last segment begins earliest (latest). The
/// segments before it are the best cut of their layers, likewise.
enum class CutTies { earliest, latest };

/// Layers [0, layers) are cut into so many segments, none of them empty.
struct CutShape {
  int layers = 0, segments = 1;
  CutTies ties = CutTies::earliest;
};

/// An objective says what segments are worth together; less is better. No cost may make a value
/// smaller, nor change the order of two values to which it is added.
struct LeastSum {
  using Value = double;
  static Value empty() { return 0; }
  static Value never() { return kNever; }
  static Value add(Value value, double cost) { return value + cost; }
};

struct LeastLargest : LeastSum {
  static Value add(Value value, double cost) { return std::max(value, cost); }
};

/// What a segment costs, in questions, each dearer than the one before. Costs derive from
/// this one and leave out what they do not need; all declare at_least().
struct SegmentCost {
  /// No segment that ends before it can be in the cut.
  static int earliest_end() { return 0; }
  /// Whether no segment that begins at `first` and goes to `last` or further can be in the cut:
  /// once it is true, it is for every further one.
  static bool ends(int /*first*/, int /*last*/) { return false; }
  /// What [first, last) costs at least; kNever if it can't be in the cut.
  double at_least(int first, int last) const = delete;
  /// What it costs, once at_least() is known; kNever if it can't be in the cut. Asked only of a
  /// segment that would be in the best cut so far if it cost no more than at least.
  static double cost(int /*first*/, int /*last*/, double at_least) { return at_least; }
};

/// The best contiguous cut by dynamic programming. `costs(k)` returns the SegmentCost of segment k.
/// O(segments · layers · w) time, where w is the most layers from a segment's first until it ends;
/// O(layers) values, and O(segments · layers) numbers for begin().
template <class Objective>
class CutSolver {
 public:
  using Value = typename Objective::Value;

  explicit CutSolver(const CutShape& shape) : shape_(shape) {}

  /// What the best cut is worth; nothing where no cut is possible.
  template <class Costs>
  std::optional<Value> value(const Costs& costs) const {
    return solve(costs, nullptr);
  }

  /// First layer of each of its segments, then the number of layers.
  template <class Costs>
  std::optional<std::vector<int>> begin(const Costs& costs) const {
    std::vector<std::vector<int>> first_of;
    if (!solve(costs, &first_of)) return std::nullopt;
    std::vector<int> begin(shape_.segments + 1, shape_.layers);
    for (int k = shape_.segments; k > 0; --k) begin[k - 1] = first_of[k - 1][begin[k]];
    return begin;
  }

 private:
  /// Where the last of k + 1 segments begins goes to `first_of[k]`, if it is asked for.
  template <class Costs>
  std::optional<Value> solve(const Costs& costs, std::vector<std::vector<int>>* first_of) const {
    std::vector<Value> best(shape_.layers + 1, Objective::never()), next;
    best[0] = Objective::empty();
    for (int k = 0; k < shape_.segments; ++k) {
      next.assign(shape_.layers + 1, Objective::never());
      std::vector<int>* firsts = nullptr;
      if (first_of != nullptr) firsts = &first_of->emplace_back(shape_.layers + 1, -1);
      extend(k, costs(k), best, next, firsts);
      std::swap(best, next);
    }
    if (best.back() == Objective::never()) return std::nullopt;
    return std::move(best.back());
  }

  /// best_k(last) is the least value of layers [0, last) in k segments; `best` holds those of k,
  /// `next` those of k + 1.
  ///   best_0(0) = empty
  ///   best_{k+1}(last) = min over first of add(best_k(first), cost_k(first, last))
  /// Of equal values the first one found stays. Each segment behind k still needs a layer.
  template <class Segment>
  void extend(int k, const Segment& segment, const std::vector<Value>& best,
              std::vector<Value>& next, std::vector<int>* firsts) const {
    const int behind = shape_.segments - k - 1, end = shape_.layers - behind;
    int begin = k, most = end - 1;  // between them all layers that k segments may reach
    while (begin <= most && best[begin] == Objective::never()) ++begin;
    while (begin <= most && best[most] == Objective::never()) --most;
    for (int i = begin; i <= most; ++i) {
      const int first = shape_.ties == CutTies::earliest ? i : most - (i - begin);
      if (best[first] == Objective::never()) continue;
      int last = behind == 0 ? end : std::max(first + 1, segment.earliest_end());
      for (const int stop = stop_of(segment, first, last, end); last < stop; ++last) {
        if (best[first] >= next[last]) continue;
        const double least = segment.at_least(first, last);
        if (least == kNever) continue;
        Value value = Objective::add(best[first], least);
        if (value >= next[last]) continue;
        const double cost = segment.cost(first, last, least);
        if (cost > least) value = Objective::add(best[first], cost);
        if (cost == kNever || value >= next[last]) continue;
        next[last] = std::move(value);
        if (firsts != nullptr) (*firsts)[last] = first;
      }
    }
  }

  /// The first of the layers from `last` to `end` at which the segment ends; `end` + 1 if none is.
  template <class Segment>
  static int stop_of(const Segment& segment, int first, int last, int end) {
    int goes_on = last - 1, stop = end + 1;
    while (stop - goes_on > 1) {
      const int middle = (goes_on + stop) / 2;
      if (segment.ends(first, middle))
        stop = middle;
      else
        goes_on = middle;
    }
    return stop;
  }

  CutShape shape_;
};

}  // namespace penstock::partition
