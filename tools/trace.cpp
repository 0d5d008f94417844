#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "runtime/job/job.h"
#include "runtime/profiling/job_links.h"
#include "runtime/profiling/trace_steps.h"
#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/json_line.h"
#include "tools/launch.h"
#include "tools/options.h"
#include "tools/output_file.h"
#include "tools/recipe.h"
#include "tools/table.h"
#include "tools/trace_json.h"

namespace penstock::tools {
namespace {

struct TraceArguments {
  RecipeArguments recipe;
  runtime::TraceOptions how;
  std::string profile, output;
  bool json = false;
};

void print(const runtime::Trace& trace) {
  std::vector<std::vector<std::string>> rows{{"step", "measured s", "predicted s", "error %"}};
  for (std::size_t s = 0; s < trace.steps.size(); ++s) {
    const runtime::TracedStep& step = trace.steps[s];
    rows.push_back({fmt::format("{}", s), fmt::format("{:.4f}", step.measured_s),
                    fmt::format("{:.4f}", step.predicted_s),
                    fmt::format("{:+.1f}", 100 * (step.predicted_s / step.measured_s - 1))});
  }
  std::cout << table_text(rows)
            << fmt::format("{}, {} × {}; medians {:.4f} s and {:.4f} s, {:+.1f} %\n",
                           trace.plan.schedule, counted(trace.plan.stages(), "stage"),
                           counted(trace.plan.replicas(), "replica"), trace.measured_s(),
                           trace.predicted_s(), 100 * trace.error());
  if (trace.plan.stages() > 1)
    std::cout << fmt::format("links measured: {}\n", runtime::text_of(trace.links));
}

void print_json(const runtime::Trace& trace) {
  std::vector<double> measured, predicted;
  for (const runtime::TracedStep& step : trace.steps) {
    measured.push_back(step.measured_s);
    predicted.push_back(step.predicted_s);
  }
  std::cout << json_line(nlohmann::ordered_json{{"schedule", trace.plan.schedule},
                                                {"stages", trace.plan.stages()},
                                                {"replicas", trace.plan.replicas()},
                                                {"links", runtime::name_of(trace.links)},
                                                {"overlap", trace.overlap},
                                                {"measured_s", trace.measured_s()},
                                                {"predicted_s", trace.predicted_s()},
                                                {"error", trace.error()},
                                                {"planned_bytes", trace.planned_bytes},
                                                {"allocated_bytes", trace.allocated_bytes},
                                                {"step_measured_s", measured},
                                                {"step_predicted_s", predicted}});
}

int run_trace(const TraceArguments& arguments) {
  const configs::Config recipe = arguments.recipe.load();
  return runtime::run_job(
      [&](comm::Communicator& world) {
        if (world.rank() == 0)
          check_outputs({{"--output", arguments.output}},
                        arguments.recipe.files(recipe, {{"--profile", arguments.profile}}));
        runtime::TraceOptions how = arguments.how;
        if (!arguments.profile.empty())
          how.profile = partition::read_device_profile(arguments.profile);
        const runtime::Trace trace = runtime::trace_steps(recipe, world, how);
        if (world.rank() != 0) return exit_done;
        if (!arguments.output.empty()) write_output(arguments.output, trace_json(trace));
        if (arguments.json)
          print_json(trace);
        else
          print(trace);
        return exit_done;
      },
      complain_of);
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
  command->add_option(
      "--profile", arguments->profile,
      "Predict from this file of penstock profile. Default: measured between the steps");
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->option_defaults()->always_capture_default();
  takes_whole(
      command->add_option("--steps", arguments->how.steps, "Traced steps, after those of warm-up"),
      {1, 10000});
  command->footer(
      "Writes nothing to the recipe's output folder. Under mpirun, -np is pipeline.stages ×\n"
      "pipeline.replicas.\n\nExamples:\n"
      "  penstock trace my.toml pipeline.stages=1 pipeline.replicas=1 -o trace.json\n"
      "  mpirun -np 2 penstock profile my.toml -o profile.json\n"
      "  mpirun -np 2 penstock trace my.toml pipeline.stages=2 --profile profile.json -o "
      "trace.json");
  command->callback([arguments, &run] { run = [arguments] { return run_trace(*arguments); }; });
}

}  // namespace penstock::tools
