#include "runtime/measuring/plan_trials.h"

#include <algorithm>
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

/// Plans take turns of so many steps: machines get faster and slower within seconds.
constexpr int kTurn = 3;

/// Seconds of steps [first, end) on rank 0, from one step's end to the next, behind the step
/// before.
std::vector<double> try_plan(const RehearsalData& data, const Plan& plan, int first, int end,
                             Communicator& world) {
  const StepSequence in_turn = in_order(data, plan);
  std::vector<StepBatches> batches{in_turn.at(std::max(0, first - 1))};
  for (int step = first; step < end; ++step) batches.push_back(in_turn.at(step));
  const std::vector<StepBatches> ahead(Rehearsal::kStepsAhead, in_turn.at(end));
  Config config = data.config;
  if (const auto recomputed = plan.recomputed())
    set_recomputed_layers(config.pipeline, *recomputed, names_of(data.chain));
  Rehearsal rehearsal(data, config, plan, world);
  const std::vector<RehearsedStep> ran = rehearsal.run(batches, ahead);
  std::vector<double> seconds;
  for (std::size_t i = 1; i < ran.size(); ++i) seconds.push_back(ran[i].end - ran[i - 1].end);
  broadcast(world, std::as_writable_bytes(std::span(seconds)));
  return seconds;
}

}  // namespace

std::vector<double> try_plans(Communicator& world, const Config& recipe,
                              const std::vector<std::string>& plans, int steps) {
  check_ranks(recipe, world.size());
  const RehearsalData data = load_rehearsal(recipe, world);
  const PlannedModel model = planned_model(data.chain, data.config.model, data.labels);
  const int count = std::stoi(broadcast(world, std::to_string(plans.size())));
  std::vector<Plan> tried;
  for (int i = 0; i < count; ++i)
    tried.push_back(
        parse_plan(broadcast(world, world.rank() == 0 ? plans[i] : ""), "a plan of rank 0", model));
  std::vector<std::vector<double>> seconds(count);
  for (int first = 0; first < steps; first += kTurn)
    for (int i = 0; i < count; ++i)
      for (const double one :
           try_plan(data, tried[i], first, std::min(first + kTurn, steps), world))
        seconds[i].push_back(one);
  std::vector<double> medians;
  for (auto& of_plan : seconds) medians.push_back(median(std::move(of_plan)));
  return medians;
}

}  // namespace penstock
