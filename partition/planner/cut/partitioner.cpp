#include "partition/planner/cut/partitioner.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "partition/planner/cut/cut_solver.h"
#include "partition/planner/cut/infeasible_cut.h"
#include "partition/planner/cut/limits.h"

namespace penstock::partition {
namespace {

bool fits(const PartitionProblem& problem, int first, int last, int stage) {
  return !problem.bytes || problem.bytes(first, last, stage) <= problem.memory[stage];
}

/// A table of load() for all ranges of layers.
class Loads {
 public:
  explicit Loads(const PartitionProblem& problem)
      : size_(problem.size() + 1), loads_(size_ * size_) {
    for (int first = 0; first < problem.size(); ++first) {
      for (int last = first + 1; last <= problem.size(); ++last) {
        loads_[first * size_ + last] = problem.load(first, last);
      }
    }
  }
  double operator()(int first, int last) const { return loads_[first * size_ + last]; }

 private:
  std::size_t size_;
  std::vector<double> loads_;
};

/// The cost of a stage: its load; infinite if that is above `limit`, or if it does not fit into
/// memory.
struct StageWithin : SegmentCost {
  const PartitionProblem& problem;
  const Loads& loads;
  double limit;
  int stage;

  double at_least(int first, int last) const {
    const double load = loads(first, last);
    return load > limit ? kInfeasible : load;
  }
  double cost(int first, int last, double load) const {
    return fits(problem, first, last, stage) ? load : kInfeasible;
  }
};

/// The lexicographic objective: a value is the list of loads in falling order. Adding the same load
/// to two values keeps their order.
struct Lexicographic {
  using Value = std::vector<double>;
  static Value empty() { return {}; }
  static Value never() { return {kInfeasible}; }
  static Value add(Value loads, double load) {
    loads.insert(std::ranges::upper_bound(loads, load, std::greater<>()), load);
    return loads;
  }
};

}  // namespace

double PartitionProblem::load(int first, int last) const {
  double seconds = std::accumulate(compute.begin() + first, compute.begin() + last, 0.0);
  if (first > 0) seconds += transfer[first - 1];
  if (last < size()) seconds += transfer[last - 1];
  return seconds;
}

Partition partition(const PartitionProblem& problem) {
  check_counts(problem);
  const Loads loads(problem);
  const CutShape shape{problem.size(), problem.stages, CutTies::latest};
  const auto within = [&](double limit) {
    return [&, limit](int stage) { return StageWithin{{}, problem, loads, limit, stage}; };
  };
  // The bottleneck comes first: it limits the candidates of the second programme, whose values are
  // lists and costly to copy.
  const auto bottleneck = CutSolver<MinLargest>(shape).value(within(kInfeasible));
  if (!bottleneck) throw_infeasible_cut(problem);
  return {*CutSolver<Lexicographic>(shape).begin(within(*bottleneck)), *bottleneck};
}

}  // namespace penstock::partition
