#include "partition/planner/cut/infeasible_cut.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/quantities.h"
#include "configs/config.h"
#include "partition/planner/cut/cut_solver.h"
#include "partition/planner/cut/limits.h"

namespace penstock::partition {
namespace {

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

}  // namespace

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

// A smaller stage helps only if there is a layer to move away, so a stage of one layer gets no
// advice to add stages.
void throw_infeasible_cut(const PartitionProblem& problem) {
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

}  // namespace penstock::partition
