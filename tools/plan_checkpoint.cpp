#include "tools/plan_checkpoint.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/quantities.h"
#include "runtime/optim/optimizer.h"
#include "runtime/pipeline/session.h"
#include "runtime/trainer/saving.h"

namespace penstock::tools {

PlannedCheckpoint checkpoint_of(const configs::Config& recipe, const partition::Plan& plan,
                                double gb_per_s) {
  std::int64_t parameters = 0;
  for (const partition::ChunkPlan& chunk : plan.chunks) parameters += chunk.predicted.parameters;
  const auto slots = runtime::make_optimizer(recipe.optimizer)->slots().of_elements.size();
  const auto bytes = static_cast<double>(
      runtime::checkpoint_bytes(parameters, slots, runtime::slot_format(recipe.optimizer)));
  return {bytes, bytes / (1e9 * gb_per_s)};
}

std::string text_of(const PlannedCheckpoint& checkpoint, double gb_per_s) {
  return fmt::format("{}, which takes {} to write at {:g} GB/s", bytes_text(checkpoint.bytes),
                     seconds_text(checkpoint.seconds), gb_per_s);
}

}  // namespace penstock::tools
