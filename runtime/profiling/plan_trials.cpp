#include "runtime/profiling/plan_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/averages.h"
#include "base/error.h"
#include "base/quantities.h"
#include "comm/collectives.h"
#include "partition/layout/build_model.h"
#include "partition/layout/recomputed_layers.h"
#include "partition/planner/plan/plan_file.h"
#include "runtime/planning/planning.h"
#include "runtime/profiling/profiling_run.h"

// Plans are compared by running them in turns: a few steps of the first, as many of each other one,
// and again from the first. A machine that slows down for a minute then slows all of them. The run
// is built anew for each turn, so that only one plan takes memory at a time.

namespace penstock::runtime {
namespace {

/// Returns the steps as the plan deals them to lanes, in the plan's order.
StepSequence in_order(const ProfilingData& data, const partition::Plan& plan) {
  if (plan.micro_batches != data.config.data.micro_batches)
    throw ConfigError(fmt::format(
        "the plan is for {} a step, but data.micro_batches = {}: set data.micro_batches and "
        "data.micro_batch_seconds to the plan's",
        counted(plan.micro_batches, "micro-batch", "micro-batches"),
        data.config.data.micro_batches));
  StepSequenceOptions options = data.steps.options();
  options.lanes = plan.lanes;
  options.order = plan.order;
  return StepSequence(std::move(options));
}

struct TriedPlan {
  partition::Plan plan;
  StepSequence steps;
  std::vector<double> seconds = {};  // [step]
};

/// Runs steps [first, end) after one more step as a warm-up. Returns the seconds on rank 0 from the
/// end of each step to the end of the next, so that time between steps counts too.
std::vector<double> try_steps(const ProfilingData& data, const TriedPlan& tried, int first, int end,
                              comm::Communicator& world) {
  std::vector<StepBatches> batches{tried.steps.at(std::max(0, first - 1))};
  for (int step = first; step < end; ++step) batches.push_back(tried.steps.at(step));
  const std::vector<StepBatches> ahead(ProfilingRun::kStepsAhead, tried.steps.at(end));
  configs::Config config = data.config;
  config.pipeline =
      with_recomputation_of(tried.plan, config.pipeline, partition::names_of(data.sequence));
  ProfilingRun profiling(data, config, tried.plan, world);
  const std::vector<ProfiledStep> ran = profiling.run(batches, ahead);
  std::vector<double> seconds;
  for (std::size_t i = 1; i < ran.size(); ++i) seconds.push_back(ran[i].end - ran[i - 1].end);
  comm::broadcast(world, std::as_writable_bytes(std::span(seconds)));
  return seconds;
}

}  // namespace

std::vector<double> try_plans(comm::Communicator& world, const configs::Config& recipe,
                              const std::vector<std::string>& plans, int steps) {
  check_ranks(recipe, world.size());
  ProfilingData data = load_profiling_data(recipe, world);
  const partition::PlannedModel model =
      planned_model(data.sequence, data.config.model, data.labels);
  const int count = std::stoi(comm::broadcast(world, fmt::format("{}", plans.size())));
  std::vector<TriedPlan> tried;
  for (int i = 0; i < count; ++i) {
    partition::Plan plan = partition::parse_plan(
        comm::broadcast(world, world.rank() == 0 ? plans[i] : ""), "a plan of rank 0", model);
    StepSequence in_turn = in_order(data, plan);
    tried.push_back({std::move(plan), std::move(in_turn)});
  }
  if (tried.empty()) return {};
  // All plans agree on recomputation within units, so the layers are built once.
  data.config.pipeline =
      with_recomputation_of(tried.front().plan, data.config.pipeline, model.layers);
  data.sequence = partition::build_trained_model(data.config, data.labels);
  for (int first = 0; first < steps; first += ProfilingRun::kTurn)
    for (TriedPlan& one : tried)
      for (const double seconds :
           try_steps(data, one, first, std::min(first + ProfilingRun::kTurn, steps), world))
        one.seconds.push_back(seconds);
  std::vector<double> medians;
  for (TriedPlan& one : tried) medians.push_back(median(std::move(one.seconds)));
  return medians;
}

}  // namespace penstock::runtime
