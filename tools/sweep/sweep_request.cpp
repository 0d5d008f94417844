#include "tools/sweep/sweep_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "configs/flatten.h"
#include "configs/load.h"
#include "layers/models/families.h"

namespace penstock::tools {
namespace {

/// Keys that a sweep sets itself, or by which its runs are compared.
constexpr std::array<std::string_view, 3> kOwnKeys = {"trainer.output", "trainer.resume",
                                                      "trainer.best_metric"};

bool names_file(const std::string& word) { return word.find('=') == std::string::npos; }

/// Raises ConfigError for a key that is named twice, or that the sweep sets itself.
void check_axes(const std::vector<SweepAxis>& axes, const SweepRequest& request) {
  if (axes.empty())
    throw ConfigError(
        "there is nothing to sweep: give a key several values, such as "
        "optimizer.learning_rate=1e-3,2e-3, or a range, such as "
        "optimizer.learning_rate=1e-4..1e-2@log with --runs 20");
  for (auto axis = axes.begin(); axis != axes.end(); ++axis) {
    if (std::ranges::find(kOwnKeys, axis->key) != kOwnKeys.end())
      throw ConfigError(fmt::format("{} is the same for all runs of a sweep", axis->key));
    if (request.halving.factor > 0 && axis->key == "trainer.steps")
      throw ConfigError("--halving compares runs of equal length: give trainer.steps one value");
    if (std::find_if(axes.begin(), axis,
                     [&](const SweepAxis& other) { return other.key == axis->key; }) != axis)
      throw ConfigError(fmt::format("{} is given twice", axis->key));
  }
}

/// Raises ConfigError for what no run of a sweep may have.
void check_config(const configs::Config& config) {
  if (config.data.validation.empty())
    throw ConfigError(
        "a sweep compares its runs by their validations: set data.validation, such as "
        "data.validation=dev.jsonl");
  if (config.trainer.validate_every < 0)
    throw ConfigError(
        "a sweep compares its runs by their validations, and trainer.validate_every is -1, which "
        "means none");
  if (!config.trainer.mirror.empty())
    throw ConfigError(
        "trainer.mirror would take the checkpoints of all runs: leave it empty, and copy the best "
        "one afterwards");
}

/// Returns the words that give a run its values.
std::vector<std::string> words_of_run(const SweepPlan& plan, std::size_t i) {
  std::vector<std::string> words;
  for (std::size_t a = 0; a < plan.axes.size(); ++a)
    words.push_back(fmt::format("{}={}", plan.axes[a].key, plan.points[i][a]));
  return words;
}

/// Loads the configuration of a run. ConfigError with the run's values. Only the first run notes
/// keys by earlier names, which are the same for all.
configs::Config config_of_run(const CheckedSweep& sweep, std::size_t i) {
  const std::vector<std::string> own = words_of_run(sweep.plan, i);
  std::vector<std::string> words = sweep.words;
  words.insert(words.end(), own.begin(), own.end());
  try {
    if (i == 0) return RecipeArguments{words}.load();
    const auto recipe = std::ranges::stable_partition(words, names_file);
    const std::string file = recipe.begin() == words.begin() ? "" : words.front();
    return configs::load_config(file, layers::model_families(),
                                std::vector<std::string>(recipe.begin(), recipe.end()));
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("run {} of {}, {}: {}", i + 1, sweep.plan.points.size(),
                                  fmt::join(own, " "), error.what()));
  }
}

/// Returns the keys that all runs share, without those that have no effect on their results.
configs::FlatConfig shared_keys(const configs::Config& config, const SweepPlan& plan) {
  configs::FlatConfig shared = configs::flatten(config);
  for (const std::string_view key : kOwnKeys) shared.erase(std::string(key));
  for (const SweepAxis& axis : plan.axes) shared.erase(axis.key);
  return shared;
}

}  // namespace

CheckedSweep check_sweep(const SweepRequest& request) {
  CheckedSweep sweep;
  for (const std::string& word : request.recipe.words) {
    if (auto axis = names_file(word) ? std::nullopt : parse_axis(word))
      sweep.plan.axes.push_back(*axis);
    else
      sweep.words.push_back(word);
  }
  check_axes(sweep.plan.axes, request);
  sweep.plan.random = request.runs > 0;
  sweep.plan.seed = request.seed;
  sweep.plan.halving = request.halving;
  sweep.plan.points = sweep.plan.random ? random_points(sweep.plan.axes, request.runs, request.seed)
                                        : grid_points(sweep.plan.axes);
  if (!request.metric.empty()) sweep.words.push_back("trainer.best_metric=" + request.metric);
  for (std::size_t i = 0; i < sweep.plan.points.size(); ++i) {
    const configs::Config config = config_of_run(sweep, i);
    check_config(config);
    sweep.steps.push_back(config.trainer.steps);
    if (i > 0) continue;
    sweep.plan.metric = config.trainer.best_metric;
    sweep.plan.shared = shared_keys(config, sweep.plan);
  }
  return sweep;
}

}  // namespace penstock::tools
