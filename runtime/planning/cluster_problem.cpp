#include "runtime/planning/cluster_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/quantities.h"
#include "configs/schema.h"
#include "configs/value.h"
#include "partition/layout/recomputed_layers.h"
#include "partition/schedule/make_schedule.h"
#include "runtime/pipeline/session.h"

namespace penstock::runtime {
namespace {

constexpr int kMaxPerDevice = 8;  // bound on micro-batches if their number is free

partition::Cluster limited(partition::Cluster cluster, double memory_gib) {
  if (memory_gib > 0)
    for (partition::Device& device : cluster.devices)
      device.memory = std::min(device.memory, memory_gib * kGib / (1 - cluster.margin));
  return cluster;
}

std::vector<partition::BatchDivision> candidate_divisions(const configs::Config& recipe,
                                                          const RecipeData& data,
                                                          const ClusterConstraints& constraints,
                                                          int devices) {
  const partition::BatchDivision given{recipe.data.micro_batch_seconds, recipe.data.micro_batches,
                                       recipe.trainer.order};
  const bool kept = !constraints.free_batch || !recipe.trainer.order.empty();
  if (kept && constraints.micro_batches > 0)
    throw ConfigError(fmt::format(
        "--micro-batches {} can't change a step: it keeps its {}, set by trainer.order or by the "
        "checkpoint that trainer.resume goes on from. Leave --micro-batches out, or start anew "
        "without them.",
        constraints.micro_batches, counted(given.micro_batches, "micro-batch", "micro-batches")));
  if (kept) return {given};
  if (constraints.micro_batches > 0)
    return {{given.seconds * given.micro_batches / constraints.micro_batches,
             constraints.micro_batches}};
  auto divisions = batch_divisions(recipe.data, data.longest(), kMaxPerDevice * devices);
  std::erase_if(divisions, [&](const partition::BatchDivision& division) {
    return division.micro_batches < std::max(recipe.trainer.lanes, constraints.replicas);
  });
  return divisions.empty() ? std::vector<partition::BatchDivision>{given} : divisions;
}

/// Returns the recipe's recomputation unless it is the default.
std::optional<partition::ChosenLayers> fixed_recomputation(
    const configs::Config& recipe, const partition::LayerSequence& sequence) {
  if (recipe.pipeline.recompute == configs::PipelineConfig().recompute) return std::nullopt;
  return partition::recomputed_layers(recipe.pipeline, sequence);
}

/// Returns the recipe's number of resident micro-batches unless it is the default.
std::optional<int> fixed_offload(const configs::Config& recipe) {
  return recipe.pipeline.resident > 0 ? std::optional(recipe.pipeline.resident) : std::nullopt;
}

/// Returns whether the recipe shards the optimizer, unless it is the default.
std::optional<bool> fixed_sharding(const configs::Config& recipe) {
  return recipe.pipeline.shard_optimizer ? std::optional(true) : std::nullopt;
}

}  // namespace

std::vector<std::string> trained_schedules(const configs::Config& config,
                                           const std::string& requested) {
  configs::Config any = config;
  const auto key = configs::find_key(any, "pipeline.schedule");
  if (!requested.empty()) {
    if (const auto wrong = configs::set_value(*key, requested)) throw ConfigError(*wrong);
    if (partition::is_schedule_file(requested))
      throw ConfigError(fmt::format(
          "{}: lists of a file are for the stages and micro-batches that they name, and "
          "can't be chosen for: plan the recipe without --cluster",
          requested));
    if (requested != partition::kFound) return {requested};
  }
  std::vector<std::string> names(key->allowed.choices.begin(), key->allowed.choices.end());
  std::erase_if(names, [](const auto& name) {
    return name == partition::kFound || name.find('*') != name.npos;  // files, or any chunks
  });
  std::ranges::stable_partition(names, [](const auto& name) { return name == "1f1b"; });
  return names;
}

std::vector<partition::BatchDivision> batch_divisions(const configs::DataConfig& data,
                                                      double longest, int max) {
  const double seconds = data.micro_batch_seconds * data.micro_batches;
  std::vector<partition::BatchDivision> divisions;
  for (int power = 1; power <= max; power *= 2)
    for (const int number : {power, power + power / 2}) {
      if (number > max || seconds / number < longest) continue;
      const bool known = !divisions.empty() && divisions.back().micro_batches == number;
      if (!known) divisions.push_back({seconds / number, number});
    }
  return divisions;
}

partition::PlanningProblem problem_of(const ClusterPlan& planned, const configs::Config& recipe,
                                      const RecipeData& data, const partition::Cluster& cluster,
                                      const ClusterConstraints& constraints) {
  partition::PlanningProblem problem;
  problem.model.sequence = planned.sequence.get();
  problem.model.sizes = backend_sizes(recipe);
  problem.model.not_counted = data.validation().not_counted;
  problem.cluster = limited(cluster, recipe.pipeline.memory_gib);
  problem.constraints = {
      .batches = candidate_divisions(recipe, data, constraints, cluster.size()),
      .schedules = trained_schedules(recipe, constraints.schedule),
      .recomputed = fixed_recomputation(recipe, *planned.sequence),
      .selective = planned.recomputing && recipe.pipeline.recompute == partition::kSelective,
      .resident = fixed_offload(recipe),
      .shards_optimizer = fixed_sharding(recipe),
      .adds_whole_gradients = recipe.pipeline.reduction == "nccl",
      .stages = constraints.stages,
      .replicas = constraints.replicas,
      .max_replicas = recipe.trainer.lanes,
      .keeps_order = planned.resumed || !recipe.trainer.order.empty(),
      .barrier = recipe.pipeline.post_validation ? partition::Barrier::none
                                                 : partition::Barrier::before_step};
  problem.search = {
      .finds = constraints.schedule.empty() || constraints.schedule == partition::kFound,
      .finds_only = constraints.schedule == partition::kFound,
      .seed = constraints.seed,
      .time = constraints.time,
      .threads = constraints.threads};
  return problem;
}

}  // namespace penstock::runtime
