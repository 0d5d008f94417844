#include "runtime/trainer/planned_training.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "base/error.h"
#include "base/packing.h"
#include "base/quantities.h"
#include "comm/collectives.h"
#include "configs/value.h"
#include "partition/planner/plan/plan_file.h"
#include "partition/planner/simulate/step_estimate.h"
#include "runtime/job/consistency.h"
#include "runtime/planning/fitting_plan.h"
#include "runtime/planning/found_schedule.h"
#include "runtime/planning/planning.h"

namespace penstock::runtime {
namespace {

StepSequence steps_of(const PreparedTraining& training, const configs::Config& config) {
  const DataOrigin& origin = training.data_origin;
  return StepSequence({training.corpus.lengths,
                       config.data,
                       config.features,
                       config.trainer.seed,
                       config.trainer.lanes,
                       config.trainer.order,
                       {origin.epoch, origin.step, origin.micro_batch},
                       training.corpus.mixture,
                       training.corpus.most_labels,
                       training.corpus.labels_per_second()});
}

RunShape shape_of(const PreparedTraining& training, const configs::Config& config,
                  const StepSequence& steps) {
  const Corpus& validation = training.validation;
  return shape_of_run(config, steps, {validation.lengths, validation.most_labels},
                      training.tokenizer->labels());
}

/// Searches for an order of micro-batches. The order determines the bits of the result, so a
/// process that works alone uses the order for the recipe's number of ranks.
void find_order(PlannedTraining& planned) {
  PreparedTraining& training = planned.prepared;
  configs::Config recipe = training.config;
  recipe.pipeline = training.pipeline;
  if (training.start || !wants_order(recipe)) return;
  const std::vector<int> order =
      shared_order(training.context.world, training.sequence, recipe, planned.shape);
  if (order.empty()) return;
  training.config.trainer.order = order;
  StepSequence ordered = steps_of(training, training.config);
  const std::int64_t first = ordered.options().start.epoch;  // before an order exists
  ordered.take(first, planned.steps.bytes_of(first));
  planned.steps = std::move(ordered);
  training.context.note(
      fmt::format("the search for a schedule found trainer.order = {}; the run keeps this order",
                  configs::value_text(&training.config.trainer.order)));
}

/// Returns the memory that measuring costs needs: the whole model on one rank, without optimizer
/// state.
std::size_t measuring_bytes(const PlannedTraining& planned) {
  const partition::LayerSequence& sequence = planned.prepared.sequence;
  configs::Config one = alone(planned.prepared.config);
  one.pipeline.schedule = "1f1b";
  one.pipeline.recompute = "none";
  const partition::StageBytes bytes =
      bytes_of_run(sequence, one, planned.shape)(0, sequence.size(), 0);
  return bytes.total() - bytes.optimizer;
}

/// Measures costs if there is a choice of cuts and a rank may use the memory that measuring needs.
/// Otherwise computes them.
std::vector<partition::LayerCost> costs_of(const PlannedTraining& planned) {
  const PreparedTraining& training = planned.prepared;
  const configs::Config& config = training.config;
  const auto note = [&](const std::string& told) { training.context.note(told); };
  if (config.pipeline.stages == 1 || !config.pipeline.plan.empty())
    return computed_costs(training.sequence, config, planned.shape);
  const double limit = config.pipeline.memory_gib;
  const double needed = limit == 0 ? 0 : static_cast<double>(measuring_bytes(planned)) / kGib;
  if (needed <= limit)
    return measured_or_computed_costs(training.sequence, config, planned.shape, note);
  note(
      fmt::format("the times of the layers are not measured, since the whole model takes {:.4g} "
                  "GiB and pipeline.memory_gib allows {:.4g}: the cut into stages follows from "
                  "operation counts",
                  needed, limit));
  return computed_costs(training.sequence, config, planned.shape);
}

bool fits_without_limit(const PlannedTraining& planned,
                        const std::vector<partition::LayerCost>& costs) try {
  configs::Config unlimited = planned.prepared.config;
  unlimited.pipeline.memory_gib = 0;
  (void)plan_run(planned.prepared.sequence, unlimited, planned.shape, costs);
  return true;
} catch (const ConfigError&) {
  return false;
}

/// Plans the run. If only pipeline.memory_gib prevents a plan, the error names settings that fit.
partition::Plan plan_or_advise(const PlannedTraining& planned,
                               const std::vector<partition::LayerCost>& costs) try {
  return plan_run(planned.prepared.sequence, planned.prepared.config, planned.shape, costs);
} catch (const ConfigError& refused) {
  const configs::PipelineConfig& pipeline = planned.prepared.config.pipeline;
  if (pipeline.memory_gib == 0 || !pipeline.plan.empty() || !fits_without_limit(planned, costs))
    throw;
  throw ConfigError(fmt::format(
      "{}. The search for a plan within {:.4g} GiB found: {}", refused.what(), pipeline.memory_gib,
      planned.fitting(static_cast<std::size_t>(pipeline.memory_gib * kGib))));
}

void pack(const std::vector<partition::ChunkTimes>& chunks, Packer& message) {
  message.add(static_cast<std::int64_t>(chunks.size()));
  for (const partition::ChunkTimes& chunk : chunks)
    for (const double seconds : {chunk.forward, chunk.backward_input, chunk.backward_weight})
      message.add(std::bit_cast<std::int64_t>(seconds));
}

std::vector<partition::ChunkTimes> unpack_times(Unpacker& from) {
  std::vector<partition::ChunkTimes> chunks(static_cast<std::size_t>(from.number()));
  for (partition::ChunkTimes& chunk : chunks)
    for (double* seconds : {&chunk.forward, &chunk.backward_input, &chunk.backward_weight})
      *seconds = std::bit_cast<double>(from.number());
  return chunks;
}

/// Plans on rank 0 and broadcasts the plan and its times, since measured costs differ between
/// ranks.
void share_plan(PlannedTraining& planned) {
  const PreparedTraining& training = planned.prepared;
  Packer message;
  if (training.context.leads()) {
    const std::vector<partition::LayerCost> costs = costs_of(planned);
    const partition::Plan plan = plan_or_advise(planned, costs);
    message.add(partition::plan_toml(plan));
    const auto recomputed = plan.recomputed();
    pack(partition::chunk_times(plan.cut(), costs,
                                recomputed ? *recomputed : partition::ChosenLayers{}),
         message);
  }
  Unpacker from(comm::broadcast(training.context.world, message.bytes()));
  planned.plan = partition::parse_plan(
      from.text(), "the plan of rank 0",
      planned_model(training.sequence, training.config.model, training.tokenizer->labels()));
  planned.chunk_times = unpack_times(from);
}

}  // namespace

std::string PlannedTraining::fitting(std::size_t bytes) const {
  const auto shape_of_changed = [this](const configs::Config& changed) {
    return shape_of(prepared, changed, steps_of(prepared, changed));
  };
  return fitting_plan(prepared.sequence, prepared.config, shape_of_changed, bytes);
}

// Each result follows from the one before: the steps from recipe and data, the shape (the longest
// micro-batches) from the first epoch, the order from the shape, and the plan from both. Rank 0
// forms the epoch, finds the order and plans; the others receive the results.
PlannedTraining plan_training(PreparedTraining prepared) {
  StepSequence steps = steps_of(prepared, prepared.config);
  share_epoch(prepared.context.world, steps, steps.options().start.epoch);
  RunShape shape = shape_of(prepared, prepared.config, steps);
  PlannedTraining planned{std::move(prepared), std::move(steps), std::move(shape)};
  find_order(planned);
  share_plan(planned);
  return planned;
}

}  // namespace penstock::runtime
