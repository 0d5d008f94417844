#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tools/cli/time_limit.h"

namespace CLI {
class App;
}

namespace penstock::tools {

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

}  // namespace penstock::tools
