#include "tools/reports/plan_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/quantities.h"
#include "partition/layout/build_model.h"
#include "runtime/optim/optimizer.h"
#include "runtime/pipeline/session.h"
#include "runtime/text/tokenizer.h"
#include "runtime/trainer/saving.h"

namespace penstock::tools {
namespace {

/// Formats the range of the step: "610 to 920 ms a step, with all rates of h100 off by the errors
/// that its file states".
std::string range_of(const runtime::ClusterPlan& planned) {
  std::vector<std::string> kinds;
  for (const partition::RatedDevice& device : planned.rated) kinds.push_back(device.name);
  return fmt::format("{} to {} a step, with all rates of {} off by the errors that {} states",
                     seconds_text(planned.believed->fastest_s),
                     seconds_text(planned.believed->slowest_s), fmt::join(kinds, " and "),
                     kinds.size() > 1 ? "each one's file" : "its file");
}

/// Says whether another plan is best if a class of cost is a fifth higher or lower.
std::string sensitivity_of(const runtime::ClusterPlan& planned) {
  const partition::Sensitivity& found = planned.believed->sensitivity;
  if (found.compared < 2) return "no other choice is near enough to compare";
  if (found.others.empty())
    return fmt::format(
        "the plan stays the best of {} choices with products, convolutions, attention, "
        "recurrences, memory, launches or messages a fifth slower or faster",
        found.compared);
  const auto max = std::ranges::max(found.others, {}, &partition::OtherBest::gain);
  return fmt::format(
      "in {} of {} cases, a class of cost a fifth slower or faster, another choice is better: most "
      "where {}, {} by {:.1f} %",
      found.others.size(), found.assumptions.size(), max.assumption,
      partition::describe(max.candidate), 100 * max.gain);
}

/// Returns the parameters of each stage as a checkpoint holds them.
std::vector<runtime::SavedParameters> saved_by_stages(const configs::Config& recipe,
                                                      const partition::Plan& plan) {
  std::vector<runtime::SavedParameters> stages(static_cast<std::size_t>(plan.stages()));
  const bool all_trained = recipe.optimizer.freeze.empty() && recipe.model.lora.rank == 0;
  std::vector<runtime::SavedParameters> layers;
  if (!all_trained)
    layers = runtime::saved_parameters(
        partition::build_trained_model(recipe, runtime::make_tokenizer(recipe.text)->labels()),
        runtime::compute_type(recipe.precision));
  for (const partition::ChunkPlan& chunk : plan.chunks) {
    runtime::SavedParameters& stage = stages.at(static_cast<std::size_t>(chunk.stage));
    if (all_trained) stage.trained += chunk.predicted.parameters;
    for (int i = chunk.first; !all_trained && i < chunk.last(); ++i)
      stage.add(layers.at(static_cast<std::size_t>(i)));
  }
  return stages;
}

}  // namespace

void add_uncertainty(const runtime::ClusterPlan& planned, partition::PlanView& view) {
  if (!planned.believed) return;
  view.facts.emplace_back("range", range_of(planned));
  view.facts.emplace_back("sensitivity", sensitivity_of(planned));
}

// A rank copies the state of its stage. If replicas shard the optimizer, it copies its share, and
// the first one the frozen weights besides.
PlannedCheckpoint checkpoint_of(const configs::Config& recipe, const partition::Plan& plan,
                                double gb_per_s) {
  const bool shares = plan.shards_optimizer.value_or(recipe.pipeline.shard_optimizer);
  const int sharing = shares ? plan.replicas() : 1;
  const partition::SlotCounts slots = runtime::training_slots(recipe).counts();
  // The optimizer's state may have a format of its own (optimizer.state), and counts for each
  // parameter as do weights.
  const auto format = runtime::slot_format(recipe.optimizer);
  runtime::SavedParameters all;
  double of_rank = 0;
  for (const runtime::SavedParameters& stage : saved_by_stages(recipe, plan)) {
    all.add(stage);
    const std::uint64_t shared = runtime::state_bytes({.trained = stage.trained}, slots, format);
    of_rank = std::max(
        of_rank, static_cast<double>(stage.frozen_bytes) + static_cast<double>(shared) / sharing);
  }
  const auto bytes = static_cast<double>(runtime::checkpoint_bytes(all, slots, format));
  return {.bytes = bytes, .seconds = bytes / (1e9 * gb_per_s), .copy = of_rank};
}

std::string text_of(const PlannedCheckpoint& checkpoint, double gb_per_s) {
  return fmt::format(
      "{}, which takes {} to write at {:g} GB/s, from copies of up to about {} a rank",
      bytes_text(checkpoint.bytes), seconds_text(checkpoint.seconds), gb_per_s,
      bytes_text(checkpoint.copy));
}

}  // namespace penstock::tools
