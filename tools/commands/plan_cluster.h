#pragma once

#include <string>

#include "tools/cli/recipe.h"
#include "tools/commands/plan_sequence.h"

namespace penstock::tools {

/// Arguments of `penstock plan MODEL --cluster`, which plans a recipe's training on a described
/// cluster.
struct ClusterArguments {
  RecipeArguments recipe;  // or the name of a model of configs/models/
  SequenceArguments layout;
  std::string data, schedule, costs, output;  // files, and a fixed schedule; or empty
  double disk_gb_per_s = 1;                   // bandwidth with which checkpoints are written
};

/// Plans, writes the plan and the report if asked to, and prints the plan, as one JSON object or
/// for people. ConfigError and DataError as from plan_on_cluster and read_cluster.
int run_plan_cluster(const ClusterArguments& arguments, bool json);

}  // namespace penstock::tools
