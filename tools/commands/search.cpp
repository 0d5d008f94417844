#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/quantities.h"
#include "partition/planner/cluster/cluster_file.h"
#include "partition/planner/cost/device_profile.h"
#include "partition/planner/plan/plan_file.h"
#include "runtime/job/job.h"
#include "runtime/planning/plan.h"
#include "runtime/profiling/plan_trials.h"
#include "tools/cli/launch.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/process_end.h"
#include "tools/cli/recipe.h"
#include "tools/commands/commands.h"
#include "tools/reports/search_report.h"

// The search itself runs on rank 0 alone. With --measure the best placements then run on all ranks,
// which get them as the text of plan files; the measured times decide, not the predicted ones.
//
// The recipe fixes stages, replicas, batch and schedule; devices and cut are searched. --output
// gets the fastest placement as a plan file. Nothing else is written but the cache of indexes:
// measured steps train fresh weights, which are dropped. Exit code 2: the recipe or cluster has
// faults, no placement fits, or --measure does not find a rank for every device.

namespace penstock::tools {
namespace {

struct SearchArguments {
  RecipeArguments recipe;
  std::string cluster, costs, output;
  int show = 8, measure = 0, steps = 5;
  std::uint64_t seed = 1;
  bool json = false;
  double time_limit = kTimeLimit;
};

/// Searches. With --measure, as many placements are kept as are to run, and the steps that are
/// predicted are those that will be measured.
runtime::ClusterPlan plan(const SearchArguments& arguments, const configs::Config& recipe,
                          int ranks, const TimeLimit& limit) {
  const partition::Cluster cluster = partition::read_cluster(arguments.cluster);
  const configs::PipelineConfig& p = recipe.pipeline;
  if (arguments.measure > 0 && (cluster.size() != ranks || p.stages * p.replicas != ranks))
    throw ConfigError(fmt::format(
        "--measure runs a rank on every device, but {} has {}, the recipe {} × {}, and the job {}: "
        "make the three numbers equal",
        arguments.cluster, counted(cluster.size(), "device"), counted(p.stages, "stage"),
        counted(p.replicas, "replica"), counted(ranks, "rank")));
  runtime::ClusterConstraints constraints{
      .stages = p.stages, .replicas = p.replicas, .schedule = p.schedule};
  constraints.seed = arguments.seed;
  constraints.time = &limit;
  if (!arguments.costs.empty()) constraints.costs = partition::read_device_profile(arguments.costs);
  constraints.placements = arguments.measure > 0 ? arguments.measure : arguments.show;
  if (arguments.measure > 0) constraints.first_steps = arguments.steps;
  return runtime::plan_for_cluster(recipe, cluster, constraints);
}

/// Prints the table on rank 0, after the plan has been written.
void report(const SearchArguments& arguments, const runtime::ClusterPlan& planned,
            const Measured& measured, const TimeLimit& limit) {
  if (!arguments.output.empty())
    partition::write_plan(arguments.output, planned.ranked.at(fastest(planned, measured)).plan);
  if (arguments.json)
    print_search_json(planned, measured, limit.ended_a_search());
  else
    print_search(planned, measured);
  if (!arguments.json && limit.ended_a_search())
    std::cout << fmt::format("\n{}\n", words_of(limit));
}

/// Refuses outputs that would replace a file that the search reads.
void check_files(const SearchArguments& arguments, const configs::Config& recipe) {
  check_outputs({{"--output", arguments.output}},
                arguments.recipe.files(
                    recipe, {{"--cluster", arguments.cluster}, {"--costs", arguments.costs}}));
}

/// Searches without a job. Nothing is measured, so no number of ranks is compared with the
/// recipe's.
int search_alone(const CLI::App& command, const SearchArguments& arguments) {
  require_absent(command, {"--steps"}, "--measure");
  const configs::Config recipe = arguments.recipe.load();
  check_files(arguments, recipe);
  const TimeLimit limit(arguments.time_limit);
  report(arguments, plan(arguments, recipe, 0, limit), {}, limit);
  return exit_done;
}

/// Searches on rank 0, then measures on all ranks. Other ranks wait in try_plans(), to which they
/// pass no plans.
int search_and_measure(const CLI::App& command, const SearchArguments& arguments,
                       comm::Communicator& world) {
  require_absent(command, {"--show"}, "a search without --measure");
  const configs::Config recipe = arguments.recipe.load();
  if (world.rank() == 0) check_files(arguments, recipe);
  const TimeLimit limit(arguments.time_limit);
  runtime::ClusterPlan planned;
  std::vector<std::string> plans;
  if (world.rank() == 0) {
    planned = plan(arguments, recipe, world.size(), limit);
    for (const runtime::RankedPlan& candidate : planned.ranked)
      plans.push_back(partition::plan_toml(candidate.plan));
  }
  const Measured measured = runtime::try_plans(world, recipe, plans, arguments.steps);
  if (world.rank() == 0) report(arguments, planned, measured, limit);
  return exit_done;
}

}  // namespace

void add_search(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<SearchArguments>();
  CLI::App* command = app.add_subcommand(
      "search", "Find the fastest placement of a recipe's stages and replicas on a cluster");
  add_recipe(command, arguments->recipe);
  command
      ->add_option("--cluster", arguments->cluster,
                   "The devices: a TOML file or a name in configs/clusters/")
      ->type_name("CLUSTER|FILE")
      ->required();
  command->add_option("--costs", arguments->costs,
                      "Layer times from a file of penstock profile. Default: computed");
  takes_whole(command->add_option("--show", arguments->show, "Placements to show. Default: 8"),
              {1, 10000});
  takes_whole(command->add_option(
                  "--measure", arguments->measure,
                  "Run this many of the best placements, under mpirun with rank i on device "
                  "i"),
              {1, 10000});
  takes_whole(command->add_option("--steps", arguments->steps,
                                  "Training steps of each measurement. Default: 5"),
              {1, 10000});
  takes_seed(command->add_option("--seed", arguments->seed, "Seed of the search"));
  add_time_limit(command, arguments->time_limit);
  command->add_option("-o,--output", arguments->output,
                      "Write the fastest placement as a plan; train it with pipeline.plan=FILE");
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->footer(
      "Examples:\n"
      "  penstock search my.toml pipeline.stages=4 --cluster h100-8\n"
      "  mpirun -np 4 penstock search my.toml pipeline.stages=4 --cluster mine.toml \\\n"
      "    --measure 6 --steps 10 -o plan.toml");
  command->callback([arguments, command, &run] {
    if (arguments->measure == 0)
      run = on_rank_0([arguments, command] { return search_alone(*command, *arguments); });
    else
      run = [arguments, command] {
        return runtime::run_job(
            [&](comm::Communicator& world) {
              return search_and_measure(*command, *arguments, world);
            },
            complain_in_job);
      };
  });
}

}  // namespace penstock::tools
