#include "runtime/supervisor/pool_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "partition/layout/build_model.h"
#include "partition/planner/plan/plan_estimate.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/remote/remote_output.h"
#include "runtime/checkpoint/resume/corrections.h"
#include "runtime/checkpoint/resume/resume.h"
#include "runtime/checkpoint/resume/saved_tokenizer.h"
#include "runtime/planning/planning.h"

namespace penstock::runtime {
namespace {

/// Returns the state of the newest checkpoint whose manifest can be read. Its tensors are not
/// verified: the ranks do that when they resume.
std::optional<TrainingState> newest_state(const std::filesystem::path& output) {
  std::vector<StoredCheckpoint> stored = list_checkpoints(output);
  for (; !stored.empty(); stored.pop_back()) try {
      return Checkpoint(stored.back().folder, OpenShards::as_read).state();
    } catch (const CheckpointError&) {  // the ranks set it aside
    }
  return {};
}

/// Returns the recipe as a resumed run has it, with a plan of its own for each layout. A plan file
/// is for its ranks alone.
configs::Config planned_recipe(const configs::Config& recipe) {
  configs::Config config = with_plan_file(with_saved_tokenizer(recipe));
  config.pipeline.plan.clear();
  const auto saved = newest_state(local_output(config));
  const auto quiet = [](const std::string&) {};
  if (saved) keep_division(config, *saved, quiet);
  config.trainer.lanes = choose_lanes(config, saved ? &*saved : nullptr, quiet);
  config.trainer.order = choose_order(config, saved ? &*saved : nullptr);
  return config;
}

/// Compares the time of a step or, if steps differ, of a micro-batch.
bool is_faster(const PoolLayout& a, const PoolLayout& b) {
  return a.step_s * std::max(b.micro_batches, 1) < b.step_s * std::max(a.micro_batches, 1);
}

}  // namespace

struct PoolLayouts::Model {
  explicit Model(const configs::Config& recipe)
      : config(planned_recipe(recipe)),
        sequence(partition::build_trained_model(config, make_tokenizer(config.text)->labels())),
        data(config, sequence) {}

  /// Returns a layout with the predicted seconds of its step. ConfigError if it does not fit.
  PoolLayout predict(int stages, int replicas) {
    PoolLayout layout{stages, replicas};
    configs::Config tried = config;
    tried.pipeline.stages = stages;
    tried.pipeline.replicas = replicas;
    if (config.trainer.scaling != "none") {
      const int all = config.pipeline.replicas;
      tried.trainer.order.clear();  // it is of the recipe's number of micro-batches
      tried.data.micro_batches = layout.micro_batches =
          std::max(replicas, config.data.micro_batches * replicas / all);
      tried.trainer.lanes = layout.lanes = replicas * std::max(1, config.trainer.lanes / all);
    }
    const RunShape shape = shape_of_run(tried, data.steps(tried), data.validation(), data.labels());
    const auto costs = computed_costs(sequence, tried, shape);
    layout.step_s =
        partition::estimate_plan(plan_run(sequence, tried, shape, costs), costs).step_seconds;
    return layout;
  }

  configs::Config config;
  partition::LayerSequence sequence;
  RecipeData data;
};

PoolLayouts::PoolLayouts(configs::Config recipe) : recipe_(std::move(recipe)) {}
PoolLayouts::~PoolLayouts() = default;

PoolLayout PoolLayouts::choose(int ranks) {
  const configs::Config whole = with_plan_file(recipe_);
  const PoolLayout own{whole.pipeline.stages, whole.pipeline.replicas};
  if (whole.trainer.scaling != "none" && whole.data.micro_batches % own.replicas != 0)
    throw ConfigError(fmt::format(
        "trainer.scaling = {} gives each replica its share of the step, but data.micro_batches = "
        "{} does not divide by pipeline.replicas = {}: set a multiple",
        whole.trainer.scaling, whole.data.micro_batches, own.replicas));
  if (ranks >= own.ranks()) return own;
  if (const auto found = known_.find(ranks); found != known_.end()) return found->second;
  return known_[ranks] = plan(ranks);
}

// A layout of equal time with fewer ranks wins, since its ranks are tried first: stages ascend, and
// only a faster one replaces the best.
PoolLayout PoolLayouts::plan(int ranks) {
  if (model_ == nullptr) model_ = std::make_unique<Model>(recipe_);
  PoolLayout best;
  std::string reason = "there are no hosts";
  const configs::Config& config = model_->config;
  const int stages = std::min(ranks, static_cast<int>(model_->sequence.size()));
  const int most =
      config.trainer.scaling == "none" ? config.trainer.lanes : config.pipeline.replicas;
  for (int s = 1; s <= stages; ++s) {
    const int replicas = std::min(ranks / s, std::max(most, 1));
    try {
      const PoolLayout tried = model_->predict(s, replicas);
      if (best.step_s == 0 || is_faster(tried, best)) best = tried;
    } catch (const ConfigError& error) {
      reason = error.what();
    }
  }
  if (best.step_s == 0)
    throw ConfigError(
        fmt::format("the run does not fit on {}: {}", counted(ranks, "rank"), reason));
  return best;
}

}  // namespace penstock::runtime
