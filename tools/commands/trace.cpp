#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "base/table.h"
#include "partition/planner/cluster/cluster_file.h"
#include "runtime/job/job.h"
#include "runtime/profiling/job_links.h"
#include "runtime/profiling/trace_steps.h"
#include "tools/cli/launch.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/process_end.h"
#include "tools/cli/recipe.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"
#include "tools/reports/trace_json.h"

// `penstock trace` takes these steps:
// 1. The layers' costs are measured in place, and a plan is made by them or by --profile. Links are
//    measured between the ranks, unless --links gives them.
// 2. The recipe's first steps run on all ranks, with a clock on every action. After every three the
//    layers' costs are measured again.
// 3. Each step is simulated by those costs, and also by --profile if that is given.
// 4. Rank 0 prints measured and predicted times, and writes all actions to --output as trace
//    events.
//
// A prediction by --profile knows nothing of the run, so it shows how far a plan can be trusted.
// One by costs in place shows how far the simulation is right. Only --output and the cache of
// indexes are written; the recipe's output folder stays as it is. Exit codes are those of `train`,
// but for 85.

namespace penstock::tools {
namespace {

struct TraceArguments {
  RecipeArguments recipe;
  runtime::TraceOptions how;
  std::string profile, links, output;
  bool json = false;
};

/// Formats an error with its sign, as in "+3.2".
std::string percent(double share) { return fmt::format("{:+.1f}", 100 * share); }

/// Prints a row for each step, with a pair of columns for each prediction, and the medians.
void print(const runtime::Trace& trace) {
  const auto predictions = trace.predictions();
  std::vector<std::vector<std::string>> rows{{"step", "measured s"}};
  for (const runtime::Prediction by : predictions) {
    rows[0].push_back(fmt::format("{} s", runtime::name_of(by)));
    rows[0].emplace_back("error %");
  }
  for (std::size_t s = 0; s < trace.steps.size(); ++s) {
    const runtime::TracedStep& step = trace.steps[s];
    auto& row = rows.emplace_back(
        std::vector{fmt::format("{}", s), fmt::format("{:.4f}", step.measured_s)});
    for (const runtime::Prediction by : predictions) {
      const double seconds = step.predicted.at(by).seconds;
      row.push_back(fmt::format("{:.4f}", seconds));
      row.push_back(percent(seconds / step.measured_s - 1));
    }
  }
  std::string medians = fmt::format("{}, {} × {}; medians: measured {:.4f} s", trace.plan.schedule,
                                    counted(trace.plan.stages(), "stage"),
                                    counted(trace.plan.replicas(), "replica"), trace.measured_s());
  for (const runtime::Prediction by : predictions)
    medians += fmt::format(", {} {:.4f} s, {} %", runtime::name_of(by), trace.predicted_s(by),
                           percent(trace.error(by)));
  std::cout << table_text(rows, output_columns()) << output_line(medians);
  if (trace.plan.stages() == 1) return;
  if (trace.links_beforehand)
    std::cout << "links: those of --links, measured beforehand\n";
  else
    std::cout << fmt::format("links measured in place: {}\n", runtime::text_of(trace.links));
}

/// Prints the same as one JSON object, with planned and allocated bytes of each rank.
void print_json(const runtime::Trace& trace) {
  std::vector<double> measured;
  for (const runtime::TracedStep& step : trace.steps) measured.push_back(step.measured_s);
  nlohmann::ordered_json json{{"schedule", trace.plan.schedule},
                              {"stages", trace.plan.stages()},
                              {"replicas", trace.plan.replicas()},
                              {"links", runtime::name_of(trace.links)},
                              {"links_beforehand", trace.links_beforehand},
                              {"overlap", trace.overlap},
                              {"measured_s", trace.measured_s()},
                              {"planned_bytes", trace.planned_bytes},
                              {"allocated_bytes", trace.allocated_bytes},
                              {"step_measured_s", measured}};
  for (const runtime::Prediction by : trace.predictions()) {
    const std::string name = by == runtime::Prediction::beforehand ? "beforehand" : "calibrated";
    std::vector<double> seconds;
    for (const runtime::TracedStep& step : trace.steps)
      seconds.push_back(step.predicted.at(by).seconds);
    json[name + "_s"] = trace.predicted_s(by);
    json[name + "_error"] = trace.error(by);
    json["step_" + name + "_s"] = seconds;
  }
  std::cout << json_line(json);
}

/// Runs on every rank. Each reads the files of --profile and --links itself.
int run_trace(const TraceArguments& arguments) {
  const configs::Config recipe = arguments.recipe.load();
  return runtime::run_job(
      [&](comm::Communicator& world) {
        if (world.rank() == 0)
          check_outputs({{"--output", arguments.output}},
                        arguments.recipe.files(recipe, {{"--profile", arguments.profile},
                                                        {"--links", arguments.links}}));
        runtime::TraceOptions how = arguments.how;
        if (!arguments.profile.empty())
          how.profile = partition::read_device_profile(arguments.profile);
        if (!arguments.links.empty()) how.links = partition::read_cluster(arguments.links);
        const runtime::Trace trace = runtime::trace_steps(recipe, world, how);
        if (world.rank() != 0) return exit_done;
        if (!arguments.output.empty()) write_output(arguments.output, trace_json(trace));
        if (arguments.json)
          print_json(trace);
        else
          print(trace);
        return exit_done;
      },
      complain_in_job);
}

}  // namespace

void add_trace(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<TraceArguments>();
  CLI::App* command = app.add_subcommand(
      "trace", "Run a few steps of a recipe, and compare them with their prediction");
  add_recipe(command, arguments->recipe);
  command->add_option("-o,--output", arguments->output,
                      "Write every action of every rank to this file, as Chrome's trace events, "
                      "which Perfetto shows");
  command->add_option("--profile", arguments->profile,
                      "Costs measured beforehand, a file of penstock profile: predict from it "
                      "alone, besides what is calibrated in place");
  command->add_option("--links", arguments->links,
                      "Links measured beforehand, a file of penstock profile --links. Default: "
                      "measured in place");
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->option_defaults()->always_capture_default();
  takes_whole(
      command->add_option("--steps", arguments->how.steps, "Traced steps, after those of warm-up"),
      {1, 10000});
  command->footer(
      "Writes nothing to the recipe's output folder. Under mpirun, -np is pipeline.stages ×\n"
      "pipeline.replicas. Costs are measured on the same ranks before the steps and after every\n"
      "three: what follows from these is calibrated in place. What follows from --profile is\n"
      "predicted beforehand.\n\nExamples:\n"
      "  penstock trace my.toml pipeline.stages=1 pipeline.replicas=1 -o trace.json\n"
      "  mpirun -np 2 penstock profile my.toml -o profile.json\n"
      "  mpirun -np 2 penstock profile --links -o links.toml\n"
      "  mpirun -np 2 penstock trace my.toml pipeline.stages=2 --profile profile.json \\\n"
      "    --links links.toml -o trace.json");
  command->callback([arguments, &run] { run = [arguments] { return run_trace(*arguments); }; });
}

}  // namespace penstock::tools
