#pragma once

#include <string>

#include "tools/plan_sequence.h"
#include "tools/recipe.h"

namespace penstock::tools {

/// `penstock plan MODEL --cluster`: a recipe's training on a described cluster.
struct ClusterArguments {
  RecipeArguments recipe;  // or the name of a model of configs/models/
  SequenceArguments layout;
  std::string data, schedule, costs, output;  // files and a schedule to keep to; or empty
  double disk_gb_per_s = 1;                   // that checkpoints are written with
};

/// Plans, writes plan and report where they are asked for, and prints the plan, as one JSON object
/// or for people. ConfigError and DataError as plan_on_cluster and read_cluster.
int run_plan_cluster(const ClusterArguments& arguments, bool json);

}  // namespace penstock::tools
