#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "configs/config.h"
#include "partition/layout/layer_sequence.h"
#include "partition/planner/cost/cost.h"
#include "partition/planner/plan/plan_file.h"
#include "partition/planner/plan/planner.h"
#include "runtime/planning/run_shape.h"

namespace penstock::runtime {

/// Returns the layer costs of a micro-batch of middling size, measured on this machine.
[[nodiscard]] std::vector<partition::LayerCost> measured_costs(
    const partition::LayerSequence& sequence, const configs::Config& config, const RunShape& shape);
/// Returns measured_costs(), or computed costs if the whole model does not fit on one device. In
/// that case `note` gets a message.
[[nodiscard]] std::vector<partition::LayerCost> measured_or_computed_costs(
    const partition::LayerSequence& sequence, const configs::Config& config, const RunShape& shape,
    const std::function<void(const std::string&)>& note);
/// Returns layer costs computed from the rates of the kind of device that the recipe names.
[[nodiscard]] std::vector<partition::LayerCost> computed_costs(
    const partition::LayerSequence& sequence, const configs::Config& config, const RunShape& shape);

/// Returns computed costs of forward passes alone. Without `texts` to compare with, the loss costs
/// nothing.
[[nodiscard]] std::vector<partition::LayerCost> recognition_costs(
    const partition::LayerSequence& sequence, const configs::Config& config, const RunShape& shape,
    bool texts);

/// Returns the request for a plan for `config`, without its bytes.
[[nodiscard]] partition::PlanRequest plan_request(const partition::LayerSequence& sequence,
                                                  const configs::Config& config,
                                                  const RunShape& shape,
                                                  const std::vector<partition::LayerCost>& costs);

/// Returns the plan of pipeline.plan with fresh predictions, else the fastest cut for
/// pipeline.stages × pipeline.replicas. If pipeline.schedule is "found" or a file, the plan has its
/// action lists. `config` must come from with_plan_file(). Micro-batches are in trainer.order.
/// Throws ConfigError like read_plan(), with_estimates(), make_plan() and plan_found().
[[nodiscard]] partition::Plan plan_run(const partition::LayerSequence& sequence,
                                       const configs::Config& config, const RunShape& shape,
                                       const std::vector<partition::LayerCost>& costs);

/// Returns the model and the layers that a plan file must name.
[[nodiscard]] partition::PlannedModel planned_model(const partition::LayerSequence& sequence,
                                                    const configs::ModelConfig& model, int labels);

/// Returns `pipeline` with the plan's recomputation, if the plan states one. `names` are those of
/// the layer sequence's layers. Throws ConfigError like recomputed_layers().
[[nodiscard]] configs::PipelineConfig with_recomputation_of(const partition::Plan& plan,
                                                            configs::PipelineConfig pipeline,
                                                            std::span<const std::string> names);

/// Returns the recipe with the values of the plan file that it names, if any: stages, replicas,
/// schedule, lanes and order. Recomputation and sharding are taken if the file states them. The
/// plan's micro-batches are taken if data.batch_seconds holds a step of as much audio, or if the
/// recipe leaves them at their defaults. Throws ConfigError like read_plan(), and if trainer.lanes,
/// data.micro_batches, data.micro_batch_seconds or trainer.order contradicts the plan.
[[nodiscard]] configs::Config with_plan_file(const configs::Config& config);

/// Returns the recipe for a process that runs it alone: one stage and one replica, with the memory
/// of all of the recipe's ranks. Its lanes, which must be known, stay, so that results are the same
/// bit for bit.
[[nodiscard]] configs::Config alone(const configs::Config& config);

}  // namespace penstock::runtime
