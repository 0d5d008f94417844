#include "runtime/trainer/planned_training.h"

#include <fmt/format.h>

#include <utility>

#include "comm/collectives.h"
#include "configs/value.h"
#include "partition/plan/plan_file.h"
#include "runtime/planning/fitting_plan.h"
#include "runtime/planning/found_schedule.h"
#include "runtime/planning/planning.h"

namespace penstock::runtime {
namespace {

StepSequence steps_of(const PreparedTraining& training, const configs::Config& config) {
  return StepSequence({training.corpus.lengths, config.data, config.features, config.trainer.seed,
                       config.trainer.lanes, config.trainer.order});
}

RunShape shape_of(const PreparedTraining& training, const configs::Config& config,
                  const StepSequence& steps) {
  return shape_of_run(config, steps, training.validation.lengths, training.tokenizer->labels());
}

/// Bits follow from the order, so that a process alone takes that of the recipe's ranks.
void find_order(PlannedTraining& planned) {
  PreparedTraining& training = planned.prepared;
  if (training.start || !wants_order(training.recipe)) return;
  const std::vector<int> order =
      shared_order(training.context.world, training.sequence, training.recipe, planned.shape);
  if (order.empty()) return;
  training.config.trainer.order = order;
  planned.steps = steps_of(training, training.config);
  training.context.note(
      fmt::format("the search for a schedule found trainer.order = {}; the run keeps this order",
                  configs::value_text(&training.config.trainer.order)));
}

/// Rank 0's, since measured costs differ from rank to rank.
partition::Plan shared_plan(const PreparedTraining& training, const RunShape& shape) {
  const configs::Config& config = training.config;
  const partition::LayerSequence& sequence = training.sequence;
  std::string text;
  if (training.context.leads()) {
    const auto note = [&](const std::string& told) { training.context.note(told); };
    const bool measure = config.pipeline.stages > 1 && config.pipeline.plan.empty();
    const auto costs = measure ? measured_or_computed_costs(sequence, config, shape, note)
                               : computed_costs(sequence, config, shape);
    text = partition::plan_toml(plan_run(sequence, config, shape, costs));
  }
  return partition::parse_plan(comm::broadcast(training.context.world, text), "the plan of rank 0",
                               planned_model(sequence, config.model, training.tokenizer->labels()));
}

}  // namespace

std::string PlannedTraining::fitting(std::size_t bytes) const {
  const auto shape_of_changed = [this](const configs::Config& changed) {
    return shape_of(prepared, changed, steps_of(prepared, changed));
  };
  return fitting_plan(prepared.sequence, prepared.config, shape_of_changed, bytes);
}

PlannedTraining plan_training(PreparedTraining prepared) {
  StepSequence steps = steps_of(prepared, prepared.config);
  RunShape shape = shape_of(prepared, prepared.config, steps);
  PlannedTraining planned{std::move(prepared), std::move(steps), std::move(shape)};
  find_order(planned);
  planned.plan = shared_plan(planned.prepared, planned.shape);
  return planned;
}

}  // namespace penstock::runtime
