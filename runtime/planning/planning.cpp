#include "runtime/planning/planning.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "configs/rules.h"
#include "configs/value.h"
#include "partition/layout/build_model.h"
#include "partition/layout/recomputed_layers.h"
#include "partition/planner/plan/plan_schedule.h"
#include "partition/planner/simulate/size_order.h"
#include "partition/schedule/csv/schedule_csv.h"
#include "partition/schedule/make_schedule.h"
#include "runtime/corpus/corpus_work.h"
#include "runtime/devices/device.h"
#include "runtime/pipeline/measure_layers.h"
#include "runtime/pipeline/session.h"
#include "runtime/planning/found_schedule.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {
namespace {

/// Returns one micro-batch of these lengths. Labels that are not known are one per ten frames.
StepWork noise_of(const partition::LayerSequence& sequence,
                  const partition::MicroBatchLengths& shape) {
  const std::vector<std::int64_t>& lengths = shape.frames;
  const std::int64_t most = partition::activation_before_text(sequence, lengths, {}).most_labels;
  StepWork work;
  work.global_micro_batches = 1;
  MicroBatchWork& m = work.micro_batches.emplace_back();
  m.lengths = lengths;
  for (std::size_t u = 0; u < lengths.size(); ++u) {
    m.utterances.push_back(u);
    std::int64_t labels = shape.labels.empty() ? lengths[u] / 10 : shape.labels[u];
    if (most > 0) labels = std::min(most, labels);
    m.label_lengths.push_back(static_cast<std::int32_t>(labels));
    m.labels.insert(m.labels.end(), static_cast<std::size_t>(labels),
                    1 + static_cast<std::int32_t>(u % 2));
  }
  return work;
}

}  // namespace

std::vector<partition::LayerCost> measured_costs(const partition::LayerSequence& sequence,
                                                 const configs::Config& config,
                                                 const RunShape& shape) {
  const auto backend = make_backend(config.trainer, config.precision);
  return measure_layers(*backend, sequence, noise_of(sequence, middling_lengths(shape)),
                        synthetic_features(0), {.sizes = backend_sizes(config)});
}

std::vector<partition::LayerCost> measured_or_computed_costs(
    const partition::LayerSequence& sequence, const configs::Config& config, const RunShape& shape,
    const std::function<void(const std::string&)>& note) try {
  return measured_costs(sequence, config, shape);
} catch (const DeviceError& error) {
  if (note)
    note(
        fmt::format("the times of the layers can't be measured on one device ({}): the cut into "
                    "stages follows from operation counts",
                    error.what()));
  return computed_costs(sequence, config, shape);
}

std::vector<partition::LayerCost> computed_costs(const partition::LayerSequence& sequence,
                                                 const configs::Config& config,
                                                 const RunShape& shape) {
  const layers::BackendSizes sizes = backend_sizes(config);
  const partition::MicroBatchLengths lengths = middling_lengths(shape);
  return partition::analytic_costs(sequence, lengths.frames, sizes, partition::default_rates(sizes),
                                   lengths.labels);
}

std::vector<partition::LayerCost> recognition_costs(const partition::LayerSequence& sequence,
                                                    const configs::Config& config,
                                                    const RunShape& shape, bool texts) {
  std::vector<partition::LayerCost> costs = computed_costs(sequence, config, shape);
  for (partition::LayerCost& cost : costs) cost.backward_input = cost.backward_weight = 0;
  if (!texts) costs.back().forward = 0;
  return costs;
}

partition::PlanRequest plan_request(const partition::LayerSequence& sequence,
                                    const configs::Config& config, const RunShape& shape,
                                    const std::vector<partition::LayerCost>& costs) {
  const layers::BackendSizes sizes = backend_sizes(config);
  partition::PlanRequest request;
  request.model = planned_model(sequence, config.model, shape.labels).summary;
  request.costs =
      partition::with_recomputation(costs, partition::recomputed_layers(config.pipeline, sequence));
  request.transfers = partition::transfer_costs(sequence, middling_lengths(shape), sizes,
                                                partition::default_link(sizes));
  request.pipeline = config.pipeline;
  request.micro_batches = config.data.micro_batches;
  request.micro_batch_seconds = config.data.micro_batch_seconds;
  request.lanes = config.trainer.lanes == 0 ? config.pipeline.replicas : config.trainer.lanes;
  return request;
}

namespace {

/// Returns the fastest cut for the action lists of a file.
partition::Plan plan_listed(const partition::LayerSequence& sequence, const configs::Config& config,
                            const RunShape& shape, partition::PlanRequest request) {
  const std::string& file = config.pipeline.schedule;
  const partition::Schedule lists = partition::read_schedule_file(file, config.pipeline.stages);
  const int own = partition::micro_batches_per_replica(request.micro_batches, request.lanes,
                                                       config.pipeline.replicas);
  if (lists.micro_batches != own)
    throw ConfigError(fmt::format(
        "{}: is for {}, but a replica has {} of a step's {} at most: set data.micro_batches, or "
        "name another schedule",
        file, counted(lists.micro_batches, "micro-batch", "micro-batches"), own,
        request.micro_batches));
  const auto sizes =
      partition::order_of_replica(config.trainer.order, config.pipeline.replicas, own);
  request.bytes = bytes_of_run(sequence, config, shape, partition::RunSchedule(lists, sizes));
  request.chunk_stages = lists.chunk_rank;
  partition::Plan plan = partition::make_plan(sequence, request);
  plan.order = config.trainer.order;
  plan.actions = partition::rows_of(lists);
  return plan;
}

}  // namespace

partition::Plan plan_run(const partition::LayerSequence& sequence, const configs::Config& config,
                         const RunShape& shape, const std::vector<partition::LayerCost>& costs) {
  const bool made = config.pipeline.plan.empty();
  if (made && config.pipeline.schedule == partition::kFound)
    return plan_found(sequence, config, shape, costs);
  partition::PlanRequest request = plan_request(sequence, config, shape, costs);
  if (made && partition::is_schedule_file(config.pipeline.schedule))
    return plan_listed(sequence, config, shape, std::move(request));
  if (made) {
    request.bytes = bytes_of_run(sequence, config, shape);
    partition::Plan plan = partition::make_plan(sequence, request);
    plan.order = config.trainer.order;
    return plan;
  }
  partition::Plan plan = partition::read_plan(config.pipeline.plan,
                                              planned_model(sequence, config.model, shape.labels));
  plan.order = config.trainer.order;
  request.bytes = bytes_of_run(sequence, config, shape, partition::schedule_of(plan));
  return partition::with_estimates(sequence, request, std::move(plan));
}

partition::PlannedModel planned_model(const partition::LayerSequence& sequence,
                                      const configs::ModelConfig& model, int labels) {
  return {partition::model_summary(model, labels), partition::names_of(sequence)};
}

configs::PipelineConfig with_recomputation_of(const partition::Plan& plan,
                                              configs::PipelineConfig pipeline,
                                              std::span<const std::string> names) {
  const auto layers = plan.recomputed();
  const bool within = plan.recomputes_within.value_or(pipeline.recompute == partition::kSelective);
  partition::set_recomputation(
      pipeline, {within, layers ? *layers : partition::recomputed_layers(pipeline, names)}, names);
  return pipeline;
}

namespace {

/// True if a plan may divide the step into other micro-batches: data.batch_seconds fixes their
/// product, or the recipe leaves them at the defaults.
bool may_divide(const configs::DataConfig& data) {
  const configs::DataConfig usual;
  return data.batch_seconds > 0 || (data.micro_batch_seconds == usual.micro_batch_seconds &&
                                    data.micro_batches == usual.micro_batches);
}

/// Takes the plan's micro-batches. Throws ConfigError if the recipe asks for others.
void divide_as(const partition::Plan& plan, const std::string& file, configs::DataConfig& data) {
  const double step = data.micro_batch_seconds * data.micro_batches;
  const double seconds =
      plan.micro_batch_seconds > 0 ? plan.micro_batch_seconds : data.micro_batch_seconds;
  if (may_divide(data) && configs::holds_step(step, seconds, plan.micro_batches)) {
    data.micro_batch_seconds = seconds;
    data.micro_batches = plan.micro_batches;
  }
  if (data.batch_seconds > 0 && data.micro_batches != plan.micro_batches)
    throw ConfigError(fmt::format(
        "{} is for {:g} s of audio a step, but the recipe has data.batch_seconds = {:g}: make them "
        "equal, or plan anew",
        file, seconds * plan.micro_batches, data.batch_seconds));
  if (data.micro_batches != plan.micro_batches)
    throw ConfigError(fmt::format(
        "{} is for {} a step, but the recipe has data.micro_batches = {}: make them equal, or plan "
        "anew",
        file, counted(plan.micro_batches, "micro-batch", "micro-batches"), data.micro_batches));
  if (data.micro_batch_seconds != seconds)
    throw ConfigError(fmt::format(
        "{} is for micro-batches of {:g} s, but the recipe has data.micro_batch_seconds = {:g}: "
        "make them equal, or plan anew",
        file, seconds, data.micro_batch_seconds));
}

/// Returns the plan's setting, or the recipe's if the plan has none. Throws ConfigError if the
/// recipe asks for sharding that the plan lacks.
bool shards_optimizer(const partition::Plan& plan, const configs::PipelineConfig& asked) {
  if (!plan.shards_optimizer) return asked.shard_optimizer;
  if (asked.shard_optimizer && !*plan.shards_optimizer && plan.replicas() > 1)
    throw ConfigError(fmt::format(
        "{} has no sharded optimizer, but the recipe has pipeline.shard_optimizer = true: leave it "
        "out, or plan anew",
        asked.plan));
  return *plan.shards_optimizer;
}

}  // namespace

configs::Config with_plan_file(const configs::Config& config) {
  configs::Config planned = config;
  if (config.pipeline.plan.empty()) return planned;
  const int labels = make_tokenizer(config.text)->labels();
  const partition::LayerSequence sequence = partition::build_model(config.model, labels);
  const partition::PlannedModel model = planned_model(sequence, config.model, labels);
  const partition::Plan plan = partition::read_plan(config.pipeline.plan, model);
  divide_as(plan, config.pipeline.plan, planned.data);
  planned.pipeline.stages = plan.stages();
  planned.pipeline.replicas = plan.replicas();
  planned.pipeline.schedule = plan.schedule;
  planned.pipeline = with_recomputation_of(plan, planned.pipeline, model.layers);
  if (plan.resident > 0) {
    if (config.pipeline.resident > 0 && config.pipeline.resident != plan.resident)
      throw ConfigError(
          fmt::format("{} has resident = {}, but the recipe has pipeline.resident = {}: make them "
                      "equal, or plan "
                      "anew",
                      config.pipeline.plan, plan.resident, config.pipeline.resident));
    planned.pipeline.resident = plan.resident;
  }
  planned.pipeline.shard_optimizer = shards_optimizer(plan, config.pipeline);
  if (config.pipeline.bucket_bytes == 0) planned.pipeline.bucket_bytes = plan.bucket_bytes;
  planned.trainer.lanes = plan.lanes;
  if (config.trainer.lanes != 0 && config.trainer.lanes != plan.lanes)
    throw ConfigError(fmt::format(
        "{} is for {}, but the recipe has trainer.lanes = {}: make them equal, or plan anew",
        config.pipeline.plan, counted(plan.lanes, "lane"), config.trainer.lanes));
  std::vector<int>& order = planned.trainer.order;
  std::vector<int> of_plan = plan.order;
  if (!order.empty() && !of_plan.empty() && order != of_plan)
    throw ConfigError(fmt::format(
        "{} is for micro-batches in the order {}, but the recipe has trainer.order = {}: make them "
        "equal, or plan anew",
        config.pipeline.plan, configs::value_text(&of_plan), configs::value_text(&order)));
  if (!of_plan.empty()) order = of_plan;
  return planned;
}

configs::Config alone(const configs::Config& config) {
  configs::Config one = config;
  one.pipeline.plan.clear();
  one.pipeline.memory_gib *= config.pipeline.stages * config.pipeline.replicas;
  one.pipeline.stages = one.pipeline.replicas = 1;
  if (partition::is_schedule_file(one.pipeline.schedule)) one.pipeline.schedule = "1f1b";
  return one;
}

}  // namespace penstock::runtime
