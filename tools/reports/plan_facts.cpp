#include "tools/reports/plan_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "base/quantities.h"
#include "runtime/optim/optimizer.h"
#include "runtime/pipeline/session.h"
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

}  // namespace

void add_uncertainty(const runtime::ClusterPlan& planned, partition::PlanView& view) {
  if (!planned.believed) return;
  view.facts.emplace_back("range", range_of(planned));
  view.facts.emplace_back("sensitivity", sensitivity_of(planned));
}

// A rank copies the state of its stage, or its share of that state if replicas shard the optimizer.
PlannedCheckpoint checkpoint_of(const configs::Config& recipe, const partition::Plan& plan,
                                double gb_per_s) {
  std::vector<std::int64_t> of_stages(static_cast<std::size_t>(plan.stages()));
  for (const partition::ChunkPlan& chunk : plan.chunks)
    of_stages.at(static_cast<std::size_t>(chunk.stage)) += chunk.predicted.parameters;
  const std::int64_t all = std::reduce(of_stages.begin(), of_stages.end());
  const std::int64_t max = of_stages.empty() ? 0 : std::ranges::max(of_stages);
  const bool shares = plan.shards_optimizer.value_or(recipe.pipeline.shard_optimizer);
  const int sharing = shares ? plan.replicas() : 1;
  const partition::SlotCounts slots = runtime::training_slots(recipe).counts();
  // The optimizer's state may have a format of its own (optimizer.state), and counts for each
  // parameter as do weights.
  const auto format = runtime::slot_format(recipe.optimizer);
  const auto bytes = static_cast<double>(runtime::checkpoint_bytes(all, slots, format));
  const auto of_rank = static_cast<double>(runtime::state_bytes(max, slots, format));
  return {.bytes = bytes, .seconds = bytes / (1e9 * gb_per_s), .copy = of_rank / sharing};
}

std::string text_of(const PlannedCheckpoint& checkpoint, double gb_per_s) {
  return fmt::format(
      "{}, which takes {} to write at {:g} GB/s, from copies of up to about {} a rank",
      bytes_text(checkpoint.bytes), seconds_text(checkpoint.seconds), gb_per_s,
      bytes_text(checkpoint.copy));
}

}  // namespace penstock::tools
