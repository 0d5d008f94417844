#include "runtime/planning/fitting_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/planning/planning.h"

namespace penstock::runtime {
namespace {

constexpr double kShortest = 1;  // seconds of the shortest micro-batch that is tried

/// Returns the bytes of the fullest rank under the best plan within pipeline.memory_gib; nothing if
/// no plan fits.
std::optional<std::size_t> fullest_rank(const partition::LayerSequence& sequence,
                                        const configs::Config& config, const RunShape& shape) try {
  const partition::Plan plan =
      plan_run(sequence, config, shape, computed_costs(sequence, config, shape));
  std::size_t fullest = 0;
  for (const partition::ChunkPlan& chunk : plan.chunks)
    fullest = std::max(fullest, chunk.predicted.bytes.total());
  return fullest;
} catch (const ConfigError&) {
  return std::nullopt;
}

std::string at_most(std::size_t bytes) {
  return fmt::format("(at most {} MiB a rank)", (bytes >> 20) + 1);
}

std::string with_more_stages(const partition::LayerSequence& sequence, configs::Config config,
                             const RunShape& shape) {
  for (int stages = config.pipeline.stages + 1; stages <= sequence.size(); ++stages) {
    config.pipeline.stages = stages;
    if (const auto bytes = fullest_rank(sequence, config, shape))
      return fmt::format("pipeline.stages = {} under mpirun -np {} with a device for each rank {}",
                         stages, stages * config.pipeline.replicas, at_most(*bytes));
  }
  return "";
}

/// Halves the micro-batches until a plan fits. The search ends when an utterance is longer than a
/// micro-batch.
std::string with_smaller_micro_batches(const partition::LayerSequence& sequence,
                                       configs::Config config, const ShapeOfRecipe& shape_of) try {
  double& seconds = config.data.micro_batch_seconds;
  for (seconds /= 2; seconds >= kShortest; seconds /= 2)
    if (const auto bytes = fullest_rank(sequence, config, shape_of(config)))
      return fmt::format("data.micro_batch_seconds = {:g} {}", seconds, at_most(*bytes));
  return "";
} catch (const ConfigError&) {
  return "";
}

}  // namespace

std::string fitting_plan(const partition::LayerSequence& sequence, const configs::Config& config,
                         const ShapeOfRecipe& shape_of, std::size_t bytes) {
  configs::Config limited = config;
  limited.pipeline.plan.clear();
  limited.pipeline.memory_gib = bytes / kGib;
  const std::string stages = with_more_stages(sequence, limited, shape_of(limited)),
                    seconds = with_smaller_micro_batches(sequence, limited, shape_of);
  if (stages.empty() && seconds.empty()) return "neither more stages nor smaller micro-batches fit";
  return fmt::format("{}{}{}", stages, stages.empty() || seconds.empty() ? "" : " or ", seconds);
}

}  // namespace penstock::runtime
