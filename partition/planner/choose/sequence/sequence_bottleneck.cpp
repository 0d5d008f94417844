#include "partition/planner/choose/sequence/sequence_bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "partition/planner/cut/limits.h"

namespace penstock::partition {
namespace {

/// A part of a stage's load, with its name.
struct Part {
  double seconds = 0;
  const char* what = "";
};

/// True if unlimited memory would allow a clearly faster cut for the same devices.
bool memory_shapes(const SequencePlan& plan) {
  auto costs = stage_costs(plan.problem, plan.placed.devices);
  for (StageCost& cost : costs) cost.memory = std::numeric_limits<double>::infinity();
  const double below = kClearly * plan.placed.cut.value;
  return best_cut(plan.problem.sequence, costs, goal_of(plan.problem, plan.placed.grid),
                  {.value = below, .sweeps = 8})
      .has_value();
}

std::string slowest_stage(const SequencePlan& plan) {
  const SequenceLoad& sequence = plan.problem.sequence;
  const auto& begin = plan.placed.cut.begin;
  const auto costs = stage_costs(plan.problem, plan.placed.devices);
  const auto load = [&](int k) { return costs[k].load(sequence, begin[k], begin[k + 1]); };
  int slowest = 0;
  for (int k = 1; k < plan.placed.grid.stages; ++k)
    if (load(k) > load(slowest)) slowest = k;
  const int first = begin[slowest], last = begin[slowest + 1];
  const StageCost& cost = costs[slowest];
  const Pace& slowest_pace = *std::ranges::max_element(cost.paces, {}, [&](const Pace& pace) {
    return pace.per_work * sequence.work(first, last) +
           pace.enter.seconds(sequence.crossing(first)) +
           pace.leave.seconds(sequence.crossing(last));
  });
  const double computing = slowest_pace.per_work * sequence.work(first, last);
  const double adding = cost.reduction.seconds(sequence.parameters(first, last));
  const std::array<Part, 3> parts = {{{computing, "computation"},
                                      {load(slowest) - computing - adding, "messages"},
                                      {adding, "gradient reduction"}}};
  const Part& max = *std::ranges::max_element(parts, {}, &Part::seconds);
  const double share = load(slowest) > 0 ? 100 * max.seconds / load(slowest) : 100;
  return fmt::format("the {} of stage {}{}, {:.0f} % of its {:.4g} ms for a micro-batch", max.what,
                     slowest,
                     last - first == 1 ? fmt::format(" (layer {} alone)", first) : std::string(),
                     share, 1e3 * load(slowest));
}

}  // namespace

std::string bottleneck_of(const SequencePlan& plan) {
  const std::string stage = slowest_stage(plan);
  if (plan.problem.sequence.recomputes())
    return "memory, because nothing fits without activation recomputation, and " + stage;
  return (memory_shapes(plan) ? "memory, which shapes the cut, and " : "") + stage;
}

}  // namespace penstock::partition
