#include "runtime/planning/plan.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "base/table.h"
#include "partition/planner/plan/plan_estimate.h"
#include "partition/planner/plan/plan_file.h"
#include "partition/planner/report/plan_diff.h"
#include "partition/planner/report/table.h"
#include "tools/cli/launch.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/process_end.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"
#include "tools/commands/plan_modes.h"
#include "tools/reports/plan_facts.h"

// `penstock plan` has four modes, which run_plan() tells apart. This file has two: the comparison
// of two plan files, and the cut of a recipe's model into the recipe's own stages. The latter
// measures the model's layers, unless --computed, cuts it for the utterances of data.train, and
// estimates a step. plan_sequence.cpp and plan_cluster.cpp have the other two.
//
// All modes check the files that they are to write before anything is measured or planned, run on
// rank 0 alone, and print a table or one JSON object. They write what --output and --report name,
// each at once and completely, and nothing else but the cache of indexes, for which a recipe's data
// are read. Exit code 2: options that contradict each other, or no plan fits; 3: data that can't be
// used; 4: a checkpoint that can't be read, from which the run would resume. A difference of two
// plans is no error: --diff ends with 0 either way.

namespace penstock::tools {
namespace {

struct PlanArguments : ClusterArguments {
  bool computed = false, json = false, diff = false;
};

/// Formats a plan with an entry for each chunk. "bytes" are those of the chunk's stage, with all
/// its chunks.
nlohmann::ordered_json to_json(const partition::Plan& plan,
                               const partition::PlanEstimate& estimate) {
  auto stages = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < plan.chunks.size(); ++i) {
    const partition::ChunkPlan& chunk = plan.chunks[i];
    const partition::StageBytes& bytes = chunk.predicted.bytes;
    stages.push_back({{"stage", chunk.stage},
                      {"layers", chunk.layers},
                      {"parameters", chunk.predicted.parameters},
                      {"time_share", chunk.predicted.time_share},
                      {"idle", estimate.idle.at(chunk.stage)},
                      {"bytes",
                       {{"weights", bytes.weights},
                        {"gradients", bytes.gradients},
                        {"optimizer", bytes.optimizer},
                        {"state", bytes.state},
                        {"saved", bytes.saved},
                        {"messages", bytes.messages},
                        {"scratch", bytes.scratch},
                        {"reduction", bytes.reduction},
                        {"total", bytes.total()},
                        {"spared", bytes.sharded_away},
                        {"host", bytes.host}}}});
  }
  return {{"model", plan.model},
          {"schedule", plan.schedule},
          {"stages", plan.stages()},
          {"replicas", plan.replicas()},
          {"lanes", plan.lanes},
          {"micro_batches", plan.micro_batches},
          {"micro_batch_seconds", plan.micro_batch_seconds},
          {"resident", plan.resident},
          {"shard_optimizer", plan.shards_optimizer.value_or(false)},
          {"step_s", estimate.step_seconds},
          {"bound", estimate.bound},
          {"plan", stages}};
}

/// Raises ConfigError for an option that would be ignored.
void check_mode(const CLI::App& command, const PlanArguments& arguments) {
  const SequenceArguments& layout = arguments.layout;
  // Each option is for some of the modes. What another mode would ignore is an error, so that
  // nobody waits for a plan that does not follow from all that was asked.
  const bool profile = !layout.profile.empty(), cluster = !layout.cluster.empty();
  if (profile || !cluster)
    require_absent(command, {"--data", "--schedule", "--costs"}, "a recipe with --cluster");
  if (profile) require_absent(command, {"--output", "--disk-gb-per-s"}, "a recipe");
  if (profile || cluster) require_absent(command, {"--computed"}, "a recipe without --cluster");
  if (!profile && !cluster)
    require_absent(
        command,
        {"--report", "--stages", "--replicas", "--micro-batches", "--seed", "--time-limit"},
        "--profile, or a recipe with --cluster");
  if (!profile) require_absent(command, {"--objective"}, "--profile");
}

/// Prints the differences between two plan files, as one JSON object or as a table. ConfigError
/// unless `files` are two plan files.
int run_plan_diff(const std::vector<std::string>& files, bool json) {
  if (files.size() != 2)
    throw ConfigError(
        fmt::format("--diff compares two plan files, but {} given: penstock plan "
                    "A.toml B.toml --diff",
                    files.size() == 1 ? "1 is" : fmt::format("{} are", files.size())));
  const partition::Plan first = partition::read_any_plan(files[0]);
  const auto rows = partition::differences(first, partition::read_any_plan(files[1]));
  if (json) {
    auto list = nlohmann::ordered_json::array();
    for (const partition::PlanDifference& row : rows)
      list.push_back({{"what", row.what}, {"first", row.first}, {"second", row.second}});
    std::cout << json_line(nlohmann::ordered_json{{"differences", list}});
    return exit_done;
  }
  if (rows.empty()) {
    std::cout << "Both plans train alike.\n";
    return exit_done;
  }
  std::vector<std::vector<std::string>> table{{"", files[0], files[1]}};
  for (const partition::PlanDifference& row : rows)
    table.push_back({row.what, row.first, row.second});
  std::cout << table_text(table, output_columns())
            << fmt::format("\nThe plans differ in {}.\n", counted(rows.size(), "place"));
  return exit_done;
}

/// Chooses one of four modes: --diff compares two plan files, --profile places measured layers,
/// --cluster plans a recipe on a described cluster, and otherwise the model is cut into the
/// recipe's own stages.
int run_plan(const CLI::App& command, const PlanArguments& arguments) {
  if (arguments.diff) {
    require_absent(command,
                   {"--profile", "--cluster", "--data", "--schedule", "--costs", "--output",
                    "--computed", "--report", "--stages", "--replicas", "--micro-batches",
                    "--objective", "--seed", "--time-limit", "--disk-gb-per-s"},
                   "a plan that is made, not for --diff");
    return run_plan_diff(arguments.recipe.words, arguments.json);
  }
  const bool profile = !arguments.layout.profile.empty();
  if (profile != arguments.recipe.words.empty())
    throw ConfigError("plan takes either a recipe or --profile FILE: give one of them");
  check_mode(command, arguments);
  if (profile) return run_plan_sequence(arguments.layout, arguments.json);
  if (!arguments.layout.cluster.empty()) return run_plan_cluster(arguments, arguments.json);
  const configs::Config recipe = arguments.recipe.load();
  check_outputs({{"--output", arguments.output}}, arguments.recipe.files(recipe));
  const runtime::RankPlan planned = runtime::plan_for_ranks(recipe, !arguments.computed);
  if (!arguments.output.empty()) partition::write_plan(arguments.output, planned.plan);
  const double disk = arguments.disk_gb_per_s;
  const PlannedCheckpoint checkpoint = checkpoint_of(recipe, planned.plan, disk);
  if (arguments.json) {
    nlohmann::ordered_json json = to_json(planned.plan, planned.estimate);
    json["checkpoint_bytes"] = static_cast<std::uint64_t>(checkpoint.bytes);
    json["checkpoint_s"] = checkpoint.seconds;
    json["copy_bytes"] = static_cast<std::uint64_t>(checkpoint.copy);
    if (!planned.not_counted.empty()) json["not_counted"] = planned.not_counted;
    std::cout << json.dump() << '\n';
    return exit_done;
  }
  std::cout << partition::plan_table(planned.plan, planned.estimate, output_columns())
            << output_line(fmt::format("a checkpoint: {}", text_of(checkpoint, disk)));
  if (!planned.not_counted.empty())
    std::cout << output_line(fmt::format("not counted: {}", planned.not_counted));
  return exit_done;
}

}  // namespace

void add_plan(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* command = app.add_subcommand(
      "plan",
      "Cut a recipe's model into stages for its utterances, or place it or a sequence of measured "
      "layers on a cluster");
  add_recipe(command, arguments->recipe);
  command->get_option("recipe")->required(false)->type_name("FILE|MODEL|KEY=VALUE");
  add_sequence(command, arguments->layout);
  command->add_option(
      "--data", arguments->data,
      "With a recipe or a model on a cluster: the manifest, in place of data.train");
  command
      ->add_option("--schedule", arguments->schedule,
                   "With a recipe on a cluster: the schedule. Default: chosen from the values of "
                   "pipeline.schedule")
      ->type_name("SCHEDULE");
  command->add_option("--costs", arguments->costs,
                      "With a recipe on a cluster: layer times from a file of penstock profile, "
                      "measured on a device of speed 1. Default: computed");
  command->add_option("-o,--output", arguments->output,
                      "Write the plan to this file; train it with pipeline.plan=FILE");
  takes_number(command->add_option(
                   "--disk-gb-per-s", arguments->disk_gb_per_s,
                   "With a recipe: GB that all ranks together write in a second to the disks "
                   "of trainer.output. Default: 1"),
               {1e-3, 1e6});
  command->add_flag("--computed", arguments->computed,
                    "Compute the times of layers from operation counts, instead of measuring them");
  command->add_flag("--diff", arguments->diff,
                    "Compare two plan files, given in place of a recipe: what differs in stages, "
                    "layers, memory");
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->footer(
      "Examples:\n"
      "  penstock plan configs/recipes/quickstart.toml\n"
      "  penstock plan my.toml pipeline.stages=4 pipeline.memory_gib=16 -o plan.toml\n"
      "  penstock plan my.toml --cluster h100-8 -o plan.toml --report plan.html\n"
      "  penstock plan ds2-wide --cluster h100-8 --data train.jsonl\n"
      "  penstock plan --profile chain.json --stages 4 --objective bottleneck --json\n"
      "  penstock plan --profile chain.json --cluster h100-8x8\n"
      "  penstock plan before.toml after.toml --diff");
  command->callback([arguments, command, &run] {
    run = on_rank_0([arguments, command] { return run_plan(*command, *arguments); });
  });
}

}  // namespace penstock::tools
