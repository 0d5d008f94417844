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
#include "configs/named_keys.h"
#include "layers/models/families.h"
#include "runtime/data/index/stream_hash.h"

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

/// Raises ConfigError for a key of all runs that the sweep sets for each, or that is swept.
void check_words(const CheckedSweep& sweep) {
  for (const std::string& word : sweep.words) {
    if (names_file(word)) continue;
    const std::string key = configs::current_name(word.substr(0, word.find('=')));
    if (key == "trainer.output" || key == "trainer.resume")
      throw ConfigError(fmt::format(
          "{}: a sweep sets {} for each run: leave it out, and name the sweep's folder by --output",
          word, key));
    if (std::ranges::find(sweep.plan.axes, key, &SweepAxis::key) != sweep.plan.axes.end())
      throw ConfigError(
          fmt::format("{} is given with one value and with several: leave {} out", key, word));
  }
}

/// Raises ConfigError for what no run of a sweep may have.
void check_config(const configs::Config& config, const HalvingOptions& halving) {
  if (config.data.validation.empty())
    throw ConfigError(
        "a sweep compares its runs by their validations: set data.validation, such as "
        "data.validation=dev.jsonl");
  if (config.trainer.validate_every < 0)
    throw ConfigError(
        "a sweep compares its runs by their validations, and trainer.validate_every is -1, which "
        "means none");
  if (halving.factor > 0 && config.trainer.early_stopping_patience > 0)
    throw ConfigError(fmt::format(
        "--halving validates each run once more at the end of each rung, which "
        "trainer.early_stopping_patience = {} would count: set trainer.early_stopping_patience=0",
        config.trainer.early_stopping_patience));
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

/// Returns the keys of a run, without those that the sweep sets or compares by itself.
configs::FlatConfig keys_of_run(const configs::Config& config) {
  configs::FlatConfig keys = configs::flatten(config);
  for (const std::string_view key : kOwnKeys) keys.erase(std::string(key));
  return keys;
}

/// Returns 16 hexadecimal digits that depend on all keys of a run.
std::string hash_of_keys(const configs::FlatConfig& keys) {
  std::string text;
  for (const auto& [key, value] : keys) text += fmt::format("{}={}\n", key, value);
  return fmt::format("{:016x}", runtime::hash_of(text));
}

}  // namespace

CheckedSweep check_sweep(const SweepRequest& request, const std::optional<SweepPlan>& saved) {
  CheckedSweep sweep;
  for (const std::string& word : request.recipe.words) {
    if (auto axis = names_file(word) ? std::nullopt : parse_axis(word))
      sweep.plan.axes.push_back(*axis);
    else
      sweep.words.push_back(word);
  }
  check_axes(sweep.plan.axes, request);
  check_words(sweep);
  sweep.plan.random = request.runs > 0;
  sweep.plan.seed = request.seed;
  sweep.plan.halving = request.halving;
  sweep.plan.points = sweep.plan.random ? random_points(sweep.plan.axes, request.runs, request.seed)
                                        : grid_points(sweep.plan.axes);
  if (saved) keep_points(*saved, sweep.plan);
  if (!request.metric.empty()) sweep.words.push_back("trainer.best_metric=" + request.metric);
  for (std::size_t i = 0; i < sweep.plan.points.size(); ++i) {
    const configs::Config config = config_of_run(sweep, i);
    check_config(config, request.halving);
    sweep.steps.push_back(config.trainer.steps);
    const configs::FlatConfig keys = keys_of_run(config);
    sweep.plan.configurations.push_back(hash_of_keys(keys));
    if (i > 0) continue;
    sweep.plan.metric = config.trainer.best_metric;
    sweep.plan.shared = keys;
    for (const SweepAxis& axis : sweep.plan.axes) sweep.plan.shared.erase(axis.key);
  }
  return sweep;
}

}  // namespace penstock::tools
