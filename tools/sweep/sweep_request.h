#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/cli/recipe.h"
#include "tools/sweep/halving.h"
#include "tools/sweep/sweep_plan.h"

namespace penstock::tools {

/// A SweepRequest holds what the command line asks for.
struct SweepRequest {
  RecipeArguments recipe;  // with lists and ranges among its overrides
  std::int64_t runs = 0;   // random points; 0: the grid of all lists
  std::uint64_t seed = 1;
  std::string metric = {};  // empty: trainer.best_metric
  HalvingOptions halving = {};
};

/// A request whose every run has been checked.
struct CheckedSweep {
  SweepPlan plan;
  std::vector<std::string> words;   // the recipe and the overrides that all runs share
  std::vector<std::int64_t> steps;  // of each run, trainer.steps
};

/// Draws the points of a sweep and loads the configuration of each, so that a wrong key, value or
/// contradiction ends the sweep before anything starts. A random search takes the points of the
/// sweep that it continues from `saved`. ConfigError names the run.
[[nodiscard]] CheckedSweep check_sweep(const SweepRequest& request,
                                       const std::optional<SweepPlan>& saved = {});

}  // namespace penstock::tools
