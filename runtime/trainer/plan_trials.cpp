#include "runtime/trainer/plan_trials.h"

#include <span>
#include <utility>

#include "comm/collectives.h"
#include "layers/tensor/median.h"
#include "partition/plan_file.h"
#include "runtime/trainer/planning.h"
#include "runtime/trainer/rehearsal.h"

namespace penstock {
namespace {

/// Rank 0's, from one step's end to the next.
double try_plan(const RehearsalData& data, const std::vector<StepBatches>& batches,
                const std::vector<StepBatches>& ahead, const Plan& plan, Communicator& world) {
  Rehearsal rehearsal(data, data.config, plan, world);
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
  std::vector<StepBatches> batches{data.steps.at(0)};
  for (int step = 0; step < steps; ++step) batches.push_back(data.steps.at(step));
  std::vector<StepBatches> ahead(Rehearsal::kStepsAhead, data.steps.at(steps));
  const PlannedModel model = planned_model(data.chain, data.config.model, data.labels);
  const int count = std::stoi(broadcast(world, std::to_string(plans.size())));
  std::vector<double> seconds;
  for (int i = 0; i < count; ++i) {
    const std::string text = broadcast(world, world.rank() == 0 ? plans[i] : "");
    seconds.push_back(
        try_plan(data, batches, ahead, parse_plan(text, "a plan of rank 0", model), world));
  }
  return seconds;
}

}  // namespace penstock
