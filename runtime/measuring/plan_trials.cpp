#include "runtime/measuring/plan_trials.h"

#include <span>
#include <utility>

#include "comm/collectives.h"
#include "layers/tensor/median.h"
#include "partition/plan_file.h"
#include "partition/recomputed_layers.h"
#include "runtime/measuring/rehearsal.h"
#include "runtime/planning/planning.h"

namespace penstock {
namespace {

/// The data as the plan deals them out, which may be a resumed run's.
StepSequence in_order(const RehearsalData& data, const Plan& plan) {
  if (plan.micro_batches != data.config.data.micro_batches)
    throw ConfigError("the plan is for " + std::to_string(plan.micro_batches) +
                      " micro-batches a step, but data.micro_batches = " +
                      std::to_string(data.config.data.micro_batches) +
                      ": set data.micro_batches and data.micro_batch_seconds to the plan's");
  StepSequenceOptions options = data.steps.options();
  options.lanes = plan.lanes;
  options.order = plan.order;
  return StepSequence(std::move(options));
}

/// Rank 0's, from one step's end to the next.
double try_plan(const RehearsalData& data, const std::vector<StepBatches>& batches,
                const std::vector<StepBatches>& ahead, const Plan& plan, Communicator& world) {
  Config config = data.config;
  if (const auto recomputed = plan.recomputed())
    set_recomputed_layers(config.pipeline, *recomputed, names_of(data.chain));
  Rehearsal rehearsal(data, config, plan, world);
  const std::vector<RehearsedStep> ran = rehearsal.run(batches, ahead);
  std::vector<double> seconds;
  for (std::size_t i = 1; i < ran.size(); ++i) seconds.push_back(ran[i].end - ran[i - 1].end);
  broadcast(world, std::as_writable_bytes(std::span(seconds)));
  return median(std::move(seconds));
}

}  // namespace

std::vector<double> try_plans(Communicator& world, const Config& recipe,
                              const std::vector<std::string>& plans, int steps) {
  check_ranks(recipe, world.size());
  const RehearsalData data = load_rehearsal(recipe, world);
  const PlannedModel model = planned_model(data.chain, data.config.model, data.labels);
  const int count = std::stoi(broadcast(world, std::to_string(plans.size())));
  std::vector<double> seconds;
  for (int i = 0; i < count; ++i) {
    const std::string text = broadcast(world, world.rank() == 0 ? plans[i] : "");
    const Plan plan = parse_plan(text, "a plan of rank 0", model);
    const StepSequence in_turn = in_order(data, plan);
    std::vector<StepBatches> batches{in_turn.at(0)};
    for (int step = 0; step < steps; ++step) batches.push_back(in_turn.at(step));
    const std::vector<StepBatches> ahead(Rehearsal::kStepsAhead, in_turn.at(steps));
    seconds.push_back(try_plan(data, batches, ahead, plan, world));
  }
  return seconds;
}

}  // namespace penstock
