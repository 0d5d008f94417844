#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "configs/config.h"
#include "partition/cost/cost.h"
#include "partition/model/layer_sequence.h"
#include "partition/plan/plan_file.h"
#include "partition/plan/planner.h"
#include "runtime/planning/run_shape.h"

namespace penstock::runtime {

/// Of a micro-batch of middling size: measured on this machine, or from rates.
[[nodiscard]] std::vector<partition::LayerCost> measured_costs(
    const partition::LayerSequence& sequence, const configs::Config& config, const RunShape& shape);
/// The same, or computed where no single device has room for the whole model, which `note` is told.
[[nodiscard]] std::vector<partition::LayerCost> measured_or_computed_costs(
    const partition::LayerSequence& sequence, const configs::Config& config, const RunShape& shape,
    const std::function<void(const std::string&)>& note);
/// From the rates of the kind of device that the recipe names.
[[nodiscard]] std::vector<partition::LayerCost> computed_costs(
    const partition::LayerSequence& sequence, const configs::Config& config, const RunShape& shape);

/// Computed costs of forward passes alone, and without the loss where there are no `texts` to
/// compare with.
[[nodiscard]] std::vector<partition::LayerCost> recognition_costs(
    const partition::LayerSequence& sequence, const configs::Config& config, const RunShape& shape,
    bool texts);

/// What a plan for `config` follows from, but for the bytes.
[[nodiscard]] partition::PlanRequest plan_request(const partition::LayerSequence& sequence,
                                                  const configs::Config& config,
                                                  const RunShape& shape,
                                                  const std::vector<partition::LayerCost>& costs);

/// The plan of pipeline.plan, with predictions of its own, else the fastest cut for
/// pipeline.stages × pipeline.replicas, which are those of with_plan_file; of pipeline.schedule =
/// "found", or of a file, with its lists. Steps are in trainer.order. ConfigError as from
/// read_plan, with_estimates, make_plan and plan_found.
[[nodiscard]] partition::Plan plan_run(const partition::LayerSequence& sequence,
                                       const configs::Config& config, const RunShape& shape,
                                       const std::vector<partition::LayerCost>& costs);

/// The layers that a plan file must name.
[[nodiscard]] partition::PlannedModel planned_model(const partition::LayerSequence& sequence,
                                                    const configs::ModelConfig& model, int labels);

/// What the plan says of recomputation, where it says anything, in place of what the recipe does.
/// `names` of the layer sequence's layers. ConfigError as recomputed_layers().
[[nodiscard]] configs::PipelineConfig with_recomputation_of(const partition::Plan& plan,
                                                            configs::PipelineConfig pipeline,
                                                            std::span<const std::string> names);

/// With the stages, replicas, schedule, lanes, order and, if it says so, recomputation and sharding
/// of the plan file that the recipe names, if any; also with its micro-batches, where
/// data.batch_seconds holds a step of as much audio, or the recipe leaves them at their defaults.
/// ConfigError as read_plan, and if trainer.lanes, data.micro_batches or data.micro_batch_seconds
/// is another number, or trainer.order another one.
[[nodiscard]] configs::Config with_plan_file(const configs::Config& config);

/// For a process that runs a recipe alone: one stage and one replica, with the memory that all of
/// the recipe's ranks may use. Its lanes stay, which must be known, so that the bits are the same.
[[nodiscard]] configs::Config alone(const configs::Config& config);

}  // namespace penstock::runtime
