#include "tools/reports/plan_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/quantities.h"
#include "runtime/optim/optimizer.h"
#include "runtime/pipeline/session.h"
#include "runtime/trainer/saving.h"

namespace penstock::tools {

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
  const auto slots = runtime::make_optimizer(recipe.optimizer)->slots().of_elements.size();
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
