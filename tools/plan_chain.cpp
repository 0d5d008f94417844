#include "tools/plan_chain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "configs/config.h"
#include "partition/cluster_file.h"
#include "partition/placement/search.h"
#include "partition/profile.h"
#include "tools/exit_code.h"
#include "tools/json_line.h"
#include "tools/options.h"
#include "tools/table.h"

namespace penstock {
namespace {

constexpr int kMost = 1 << 20;  // stages, replicas and micro-batches
constexpr double kGib = 1 << 30;

PlacementProblem problem_of(const ChainArguments& arguments, const ChainProfile& profile) {
  const bool described = !arguments.cluster.empty();
  if (!described && arguments.stages == 0)
    throw ConfigError(
        "a profile alone does not say on what to plan it: give --cluster FILE, or --stages K for K "
        "equal devices");
  PlacementProblem problem{
      .chain =
          ChainLoad(profile, described ? ChainLoad::Crossing::bytes : ChainLoad::Crossing::seconds),
      .cluster = described ? read_cluster(arguments.cluster) : equal_devices(arguments.stages),
      .objective = arguments.objective == "step" ? Objective::step : Objective::bottleneck};
  const int slots = arguments.stages > 0 ? arguments.stages : problem.cluster.size();
  problem.micro_batches = arguments.micro_batches > 0 ? arguments.micro_batches : 4 * slots;
  return problem;
}

double bytes_of(const PlacementProblem& problem, const PlacedChain& placed, int stage) {
  return problem.chain.bytes(placed.cut.begin[stage], placed.cut.begin[stage + 1],
                             in_flight(problem, placed.grid, stage));
}

double step_of(const PlacementProblem& problem, const PlacedChain& placed) {
  return placed.cut.sum + (micro_batches_of(problem, placed.grid) - 1) * placed.cut.slowest;
}

nlohmann::ordered_json json_of(const PlacementProblem& problem, const PlacedChain& placed) {
  auto stages = nlohmann::ordered_json::array();
  const auto costs = stage_costs(problem, placed.devices);
  for (int k = 0; k < placed.grid.stages; ++k) {
    const int first = placed.cut.begin[k], last = placed.cut.begin[k + 1];
    stages.push_back({{"first_layer", first},
                      {"last_layer", last - 1},
                      {"devices", placed.devices[k]},
                      {"bytes", bytes_of(problem, placed, k)},
                      {"load_ms", 1e3 * costs[k].load(problem.chain, first, last)}});
  }
  return {{"micro_batches", problem.micro_batches},
          {"replicas", placed.grid.replicas},
          {"bottleneck_ms", 1e3 * placed.cut.slowest},
          {"step_ms", 1e3 * step_of(problem, placed)},
          {"lower_bound_ms", 1e3 * placed.bound},
          {"gap", placed.gap()},
          {"stages", stages},
          {"schedule", "1f1b"},
          {"recompute", "none"}};
}

/// The first devices of a stage by name, and how many more there are.
std::string names_of(const Cluster& cluster, const std::vector<int>& devices) {
  constexpr std::size_t shown = 4;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(shown, devices.size()); ++i)
    names.push_back(cluster.name_of(devices[i]));
  const std::string text = fmt::format("{}", fmt::join(names, " "));
  return devices.size() <= shown ? text : fmt::format("{} +{}", text, devices.size() - shown);
}

void print(const PlacementProblem& problem, const PlacedChain& placed,
           const ChainProfile& profile) {
  std::vector<std::vector<std::string>> rows{
      {"stage", "first", "last", "layers", "GiB", "load ms", "idle", "devices"}};
  const auto costs = stage_costs(problem, placed.devices);
  const double step = step_of(problem, placed);
  const int runs = micro_batches_of(problem, placed.grid);
  for (int k = 0; k < placed.grid.stages; ++k) {
    const int first = placed.cut.begin[k], last = placed.cut.begin[k + 1];
    const double load = costs[k].load(problem.chain, first, last);
    rows.push_back({std::to_string(k), std::to_string(first), std::to_string(last - 1),
                    std::to_string(last - first),
                    fmt::format("{:.2f}", bytes_of(problem, placed, k) / kGib),
                    fmt::format("{:.3f}", 1e3 * load),
                    fmt::format("{:.0f}%", step > 0 ? 100 * (1 - runs * load / step) : 0),
                    names_of(problem.cluster, placed.devices[k])});
  }
  std::cout
      << fmt::format("{}: {} layers in {} stages × {} replicas, {} micro-batches a step\n\n",
                     profile.name, profile.layers.size(), placed.grid.stages, placed.grid.replicas,
                     problem.micro_batches)
      << table_text(rows)
      << fmt::format(
             "\nbottleneck {:.3f} ms · step {:.3f} ms · lower bound {:.3f} ms · gap {:.2f} %\n"
             "1f1b, no recomputation, {:.3g} % of each device's memory left free\n",
             1e3 * placed.cut.slowest, 1e3 * step, 1e3 * placed.bound, 100 * placed.gap(),
             100 * problem.cluster.margin);
}

}  // namespace

void add_chain(CLI::App* command, ChainArguments& arguments) {
  command->add_option("--profile", arguments.profile,
                      "Instead of a recipe, a chain of measured layers (docs/planning.md)");
  command->add_option("--cluster", arguments.cluster,
                      "With --profile: the devices, a TOML file or a name in configs/clusters/; "
                      "default: as many equal ones as stages");
  takes_whole(command->add_option("--stages", arguments.stages,
                                  "With --profile: so many stages; default: chosen"),
              {1, kMost});
  takes_whole(command->add_option("--replicas", arguments.replicas,
                                  "With --profile: so many of every stage; default: chosen"),
              {1, kMost});
  takes_whole(command->add_option("--micro-batches", arguments.micro_batches,
                                  "With --profile: of a step, over all replicas; default: 4 × "
                                  "stages, else 4 × the cluster's devices"),
              {1, kMost});
  command
      ->add_option("--objective", arguments.objective,
                   "With --profile: what is made least, the time of a step or the load of the "
                   "slowest stage")
      ->check(CLI::IsMember({"step", "bottleneck"}));
  command->add_option("--seed", arguments.seed, "With --profile: of the search for a placement");
}

int run_plan_chain(const ChainArguments& arguments, bool json) {
  const ChainProfile profile = read_profile(arguments.profile);
  const PlacementProblem problem = problem_of(arguments, profile);
  const PlacedChain placed =
      place_chain(problem, {.stages = arguments.stages, .replicas = arguments.replicas},
                  {.seed = arguments.seed});
  if (json)
    std::cout << json_line(json_of(problem, placed));
  else
    print(problem, placed, profile);
  return exit_done;
}

}  // namespace penstock
