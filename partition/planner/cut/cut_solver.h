#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "partition/planner/cut/limits.h"

namespace penstock::partition {

/// Chooses among cuts of equal value: the last segment begins earliest, or latest. The rule holds
/// for the cut of the layers before it, too.
enum class CutTies { earliest, latest };

/// The numbers of layers and of segments. No segment may be empty.
struct CutShape {
  int layers = 0, segments = 1;
  CutTies ties = CutTies::earliest;
};

/// An objective combines the costs of segments to a value; less is better. Adding a cost must
/// neither lower a value nor change the order of two values. MinSum adds costs up.
struct MinSum {
  using Value = double;
  static Value empty() { return 0; }
  static Value never() { return kInfeasible; }
  static Value add(Value value, double cost) { return value + cost; }
};

/// Takes the maximum of the costs.
struct MinLargest : MinSum {
  static Value add(Value value, double cost) { return std::max(value, cost); }
};

/// The cost of one segment, as a series of queries from cheap to expensive. Costs derive from this
/// type and override what they need; all declare at_least().
struct SegmentCost {
  /// Returns a layer before which the segment can't end in any cut of interest.
  static int earliest_end() { return 0; }
  /// Returns true if no segment from `first` to `last` or further can be in the cut. It must be
  /// monotonic in `last`.
  static bool ends(int /*first*/, int /*last*/) { return false; }
  /// Returns a lower bound on the cost of [first, last); kInfeasible if it can't be in the cut.
  double at_least(int first, int last) const = delete;
  /// Returns the cost, given at_least(); kInfeasible if the segment can't be in the cut. It is
  /// called only if the lower bound would improve the best cut so far.
  static double cost(int /*first*/, int /*last*/, double at_least) { return at_least; }
};

/// Finds the best contiguous cut by dynamic programming. `costs(k)` returns the SegmentCost of
/// segment k. Time is O(segments · layers · w), where w is the most layers of a segment until
/// ends() is true. Memory is O(layers) values, and O(segments · layers) integers for begin().
template <class Objective>
class CutSolver {
 public:
  using Value = typename Objective::Value;

  explicit CutSolver(const CutShape& shape) : shape_(shape) {}

  /// Returns the value of the best cut; nothing if no cut is possible.
  template <class Costs>
  std::optional<Value> value(const Costs& costs) const {
    return solve(costs, nullptr);
  }

  /// Returns the best cut: the first layer of each segment, then the number of layers.
  template <class Costs>
  std::optional<std::vector<int>> begin(const Costs& costs) const {
    std::vector<std::vector<int>> first_of;
    if (!solve(costs, &first_of)) return std::nullopt;
    std::vector<int> begin(shape_.segments + 1, shape_.layers);
    for (int k = shape_.segments; k > 0; --k) begin[k - 1] = first_of[k - 1][begin[k]];
    return begin;
  }

 private:
  /// If `first_of` is not null, first_of[k][last] becomes the first layer of segment k that ends at
  /// `last`.
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

  /// Extends the programme by segment k. best_k(last) is the least value of layers [0, last) in k
  /// segments; `best` holds those of k, `next` those of k + 1.
  ///   best_0(0) = empty
  ///   best_{k+1}(last) = min over first of add(best_k(first), cost_k(first, last))
  /// The first of several equal values stays. Each segment after k still needs a layer.
  template <class Segment>
  void extend(int k, const Segment& segment, const std::vector<Value>& best,
              std::vector<Value>& next, std::vector<int>* firsts) const {
    const int behind = shape_.segments - k - 1, end = shape_.layers - behind;
    int begin = k, max = end - 1;  // range of boundaries that k segments may reach
    while (begin <= max && best[begin] == Objective::never()) ++begin;
    while (begin <= max && best[max] == Objective::never()) --max;
    for (int i = begin; i <= max; ++i) {
      const int first = shape_.ties == CutTies::earliest ? i : max - (i - begin);
      if (best[first] == Objective::never()) continue;
      int last = behind == 0 ? end : std::max(first + 1, segment.earliest_end());
      for (const int stop = stop_of(segment, first, last, end); last < stop; ++last) {
        if (best[first] >= next[last]) continue;
        const double min = segment.at_least(first, last);
        if (min == kInfeasible) continue;
        Value value = Objective::add(best[first], min);
        if (value >= next[last]) continue;
        const double cost = segment.cost(first, last, min);
        if (cost > min) value = Objective::add(best[first], cost);
        if (cost == kInfeasible || value >= next[last]) continue;
        next[last] = std::move(value);
        if (firsts != nullptr) (*firsts)[last] = first;
      }
    }
  }

  /// Returns the first of the boundaries from `last` to `end` for which ends() is true, by
  /// bisection; `end` + 1 if there is none.
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
