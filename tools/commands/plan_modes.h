#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tools/cli/options.h"
#include "tools/cli/recipe.h"

namespace CLI {
class App;
}  // namespace CLI

namespace penstock::tools {

// These modes of `penstock plan` place measured layers, or the training of a recipe, on a described
// cluster.

/// Arguments of `penstock plan --profile`, which plans a sequence of measured layers on a described
/// cluster.
struct SequenceArguments {
  std::string profile, cluster;
  int stages = 0, replicas = 0, micro_batches = 0;  // 0: chosen
  std::string objective = "step";
  std::uint64_t seed = 1;
  std::string report;  // HTML file
  double time_limit = kTimeLimit;
};

void add_sequence(CLI::App* command, SequenceArguments& arguments);

/// Prints the plan, as one JSON object or as a table. ConfigError as from read_profile,
/// read_cluster and place_sequence.
int run_plan_sequence(const SequenceArguments& arguments, bool json);

/// Arguments of `penstock plan MODEL --cluster`, which plans a recipe's training on a described
/// cluster.
struct ClusterArguments {
  RecipeArguments recipe;  // or the name of a model of configs/models/
  SequenceArguments layout;
  std::string data, schedule, costs, output;  // files, and a fixed schedule; or empty
  double disk_gb_per_s = 1;                   // bandwidth with which checkpoints are written
};

/// Plans, writes the plan and the report if asked to, and prints the plan, as one JSON object or
/// for people. ConfigError and DataError as from plan_for_cluster and read_cluster.
int run_plan_cluster(const ClusterArguments& arguments, bool json);

}  // namespace penstock::tools
