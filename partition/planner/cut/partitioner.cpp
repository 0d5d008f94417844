#include "partition/planner/cut/partitioner.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "configs/config.h"
#include "partition/planner/cut/cut_solver.h"
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

double gib(double bytes) { return bytes / kGib; }

/// A stage, with its bytes over those of its device.
struct Demand {
  double ratio = 0;
  int first = 0, last = 0, stage = 0;
};

/// The cost of a stage: its bytes over those of its device.
struct DemandOfStage : SegmentCost {
  const PartitionProblem& problem;
  int stage;

  double at_least(int first, int last) const {
    return problem.bytes(first, last, stage) / problem.memory[stage];
  }
};

/// Returns the fullest stage of the cut whose fullest stage is least full.
Demand min_demand(const PartitionProblem& problem) {
  const CutSolver<MinLargest> solver({problem.size(), problem.stages, CutTies::latest});
  const auto begin = solver.begin([&](int stage) { return DemandOfStage{{}, problem, stage}; });
  if (!begin) return {.ratio = kInfeasible};
  Demand fullest;
  for (int stage = 0; stage < problem.stages; ++stage) {
    const int first = (*begin)[stage], last = (*begin)[stage + 1];
    const double ratio = DemandOfStage{{}, problem, stage}.at_least(first, last);
    if (ratio > fullest.ratio) fullest = {ratio, first, last, stage};
  }
  return fullest;
}

std::string name_of_layer(const PartitionProblem& problem, int layer) {
  return problem.layers.empty() ? fmt::format("number {}", layer) : problem.layers[layer];
}

/// Throws ConfigError unless there is at least one stage, and a layer for each.
void check_counts(const PartitionProblem& problem) {
  if (problem.stages < 1) {
    throw ConfigError(fmt::format("pipeline.stages = {}: at least 1 is needed", problem.stages));
  }
  if (problem.stages > problem.size()) {
    const int each = problem.chunks_per_rank;
    const std::string chunks = each == 1
                                   ? "a stage needs one"
                                   : fmt::format("each of a stage's {} chunks needs one", each);
    throw ConfigError(fmt::format(
        "pipeline.stages = {}, but the model has {} and {}: ask for at most {}",
        problem.stages / each, counted(problem.size(), "layer"), chunks, problem.size() / each));
  }
}

/// Throws ConfigError for a problem without a cut that fits into memory. The message says how much
/// the cut that comes closest needs, on which stage, and what would help. A stage of one layer gets
/// no advice to add stages, since it has no layer to give away.
[[noreturn]] void throw_infeasible_cut(const PartitionProblem& problem) {
  const Demand demand = min_demand(problem);
  const bool alone = demand.last - demand.first == 1;
  const std::string what =
      alone ? fmt::format("layer {} alone", name_of_layer(problem, demand.first))
            : fmt::format("layers {} to {}", name_of_layer(problem, demand.first),
                          name_of_layer(problem, demand.last - 1));
  const int each = problem.chunks_per_rank;
  const char* part = each == 1 ? "stage" : "chunk";
  const std::string allows =
      each == 1
          ? "pipeline.memory_gib allows"
          : fmt::format("pipeline.memory_gib, shared by the {} chunks of a stage, allows", each);
  const double limit = problem.memory[demand.stage];
  throw ConfigError(fmt::format(
      "memory binds: of all cuts into {}, the one that needs least needs {:.4g} GiB on {} {} ({}), "
      "but {} {:.4g}. Allow that much, {}or lower data.micro_batch_seconds",
      counted(problem.stages, part), gib(demand.ratio * limit), part, demand.stage, what, allows,
      gib(limit), alone ? "" : "ask for more stages, "));
}

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
  // The bottleneck comes first: it limits the segments of the second programme, whose values are
  // lists and costly to copy.
  const auto bottleneck = CutSolver<MinLargest>(shape).value(within(kInfeasible));
  if (!bottleneck) throw_infeasible_cut(problem);
  return {*CutSolver<Lexicographic>(shape).begin(within(*bottleneck)), *bottleneck};
}

}  // namespace penstock::partition
