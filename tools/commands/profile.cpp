#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/quantities.h"
#include "base/table.h"
#include "partition/planner/cluster/cluster_file.h"
#include "partition/planner/cost/device_file.h"
#include "runtime/devices/device.h"
#include "runtime/job/job.h"
#include "runtime/pipeline/session.h"
#include "runtime/profiling/job_links.h"
#include "runtime/profiling/measure_device.h"
#include "runtime/profiling/measure_profile.h"
#include "runtime/profiling/probe_topology.h"
#include "tools/cli/launch.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/process_end.h"
#include "tools/cli/recipe.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"

// Three measurements share the command. A recipe's layers are timed on all ranks at once, so that
// ranks that share a machine slow each other down as in training. Links are timed between the
// ranks, and a device is timed alone. The latter two need no recipe. Their results are TOML: a
// cluster file, and a device that cluster files name.
//
// A recipe's profile loads data.train, runs each measured micro-batch --repeats times, and fits a
// time to each layer. Only --output, at once and completely, and the cache of indexes are written;
// links and devices go to standard output if no file is named, and a recipe's table is always
// printed. No run's output folder is touched. Exit codes are those of `train`: 2 for the recipe, 3
// for data, and 1 for a device that fails.

namespace penstock::tools {
namespace {

struct ProfileArguments {
  RecipeArguments recipe;
  runtime::ProfileOptions how;
  std::string output;
  bool links = false, device = false;
  std::string like;  // a device; empty: chosen by the backend
};

/// Prints the fitted times of a micro-batch of middling size, which the profile's neutral form has
/// too.
void print(const partition::DeviceProfile& profile) {
  const auto ms = [&](const partition::FittedCost& cost) {
    return fmt::format("{:.3f}", 1e3 * cost.of(profile.middling));
  };
  std::cout << fmt::format("{}\n{} at the same time, {} each; a micro-batch of {}:\n",
                           profile.device, counted(profile.ranks, "rank"),
                           counted(profile.threads, "thread"),
                           counted(profile.middling.frames.size(), "utterance"));
  TableRows rows{{"ms", "forward", "input", "weight"}};
  for (const partition::FittedLayer& layer : profile.layers)
    rows.push_back(
        {layer.layer, ms(layer.forward), ms(layer.backward_input), ms(layer.backward_weight)});
  rows.push_back({"reading", ms(profile.reading)});
  std::cout << table_text(rows, output_columns())
            << fmt::format("once a step: {:.3f} ms a million parameters\n",
                           1e9 * profile.parameter_s);
}

/// Writes to the named file, or to standard output if none is named.
void put(const std::string& output, const std::string& text) {
  if (output.empty())
    std::cout << text;
  else
    write_output(output, text);
}

/// Measures the links of the job's ranks. The result is a cluster whose devices all have speed 1,
/// since only links were measured.
int run_links(const ProfileArguments& arguments) {
  return runtime::run_job(
      [&](comm::Communicator& world) {
        if (world.rank() == 0) check_outputs({{"--output", arguments.output}});
        const auto [cluster, links] = runtime::probe_topology(world);
        if (world.rank() == 0)
          put(arguments.output, fmt::format("# Links: {}.\n{}", runtime::text_of(links),
                                            partition::cluster_toml(cluster)));
        return exit_done;
      },
      complain_in_job);
}

/// Measures one device; a CPU is measured by one core.
int run_device(const ProfileArguments& arguments) {
  check_outputs({{"--output", arguments.output}});
  configs::TrainerConfig any;  // any device of this machine
  any.threads = 1;
  const bool cpu = runtime::device_kind(any) == layers::DeviceKind::cpu;
  const std::string like = !arguments.like.empty() ? arguments.like : cpu ? "cpu-avx2" : "h100";
  put(arguments.output,
      fmt::format(
          "# As {} where this has not measured: memory, multiprocessors, tiles and the size "
          "of the cache.\n{}",
          like,
          partition::device_toml(runtime::measure_device(any, partition::read_device(like)))));
  return exit_done;
}

/// Chooses one of the three measurements, and refuses the options of the other two.
int run_profile(const CLI::App& command, const ProfileArguments& arguments) {
  if (arguments.links + arguments.device + !arguments.recipe.words.empty() > 1)
    throw ConfigError("profile takes either a recipe, --links or --device: give one of them");
  if (!arguments.device) require_absent(command, {"--like"}, "--device alone");
  if (arguments.device) {
    require_absent(command, {"--micro-batches", "--repeats"}, "a recipe, not for --device");
    return run_device(arguments);
  }
  if (arguments.links) {
    require_absent(command, {"--micro-batches", "--repeats"}, "a recipe, not for --links");
    return run_links(arguments);
  }
  configs::Config recipe = arguments.recipe.load();
  // Layers are measured without recomputation. A plan adds the time of recomputed forward passes
  // itself.
  recipe.pipeline.plan.clear();
  recipe.pipeline.recompute = configs::PipelineConfig().recompute;
  recipe.pipeline.recompute_layers.clear();
  return runtime::run_job(
      [&](comm::Communicator& world) {
        if (world.rank() == 0)
          check_outputs({{"--output", arguments.output}}, arguments.recipe.files(recipe));
        const runtime::ProfilingData data = runtime::load_profiling_data(recipe, world);
        const partition::DeviceProfile profile =
            runtime::measure_profile(data, world, arguments.how);
        if (world.rank() != 0) return exit_done;
        if (!arguments.output.empty())
          write_output(arguments.output,
                       partition::device_profile_json(
                           profile, runtime::neutral_profile(profile, data.sequence,
                                                             runtime::backend_sizes(data.config))));
        print(profile);
        return exit_done;
      },
      complain_in_job);
}

}  // namespace

void add_profile(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<ProfileArguments>();
  CLI::App* command = app.add_subcommand(
      "profile",
      "Measure the times of a recipe's layers on this machine, by the lengths of utterances");
  add_recipe(command, arguments->recipe);
  command->get_option("recipe")->required(false);
  command->add_flag(
      "--links", arguments->links,
      "Measure the links between the ranks instead, as a cluster file for penstock plan");
  command->add_flag("--device", arguments->device,
                    "Measure what this machine's device achieves instead, a CPU's by one core, as "
                    "a device that cluster files name");
  command
      ->add_option("--like", arguments->like,
                   "With --device: a device file or a name in configs/devices/, for what can't "
                   "be measured. Default: cpu-avx2, or h100 where there is a GPU")
      ->type_name("DEVICE|FILE");
  command->add_option("-o,--output", arguments->output,
                      "Write the profile (JSON), the cluster or the device (TOML) to this file");
  command->option_defaults()->always_capture_default();
  takes_whole(command->add_option("--micro-batches", arguments->how.micro_batches,
                                  "Micro-batches that each rank measures, spread over all sizes"),
              {1, 1000});
  takes_whole(command->add_option("--repeats", arguments->how.repeats,
                                  "Times that each micro-batch is measured"),
              {1, 1000});
  command->footer(
      "Under mpirun all ranks measure at the same time: the times include what ranks of a machine\n"
      "contend for. Start as many ranks as will share a machine.\n\nExamples:\n"
      "  penstock profile my.toml -o profile.json\n"
      "  mpirun -np 2 penstock profile my.toml trainer.threads=1 -o profile.json\n"
      "  penstock plan --profile profile.json --stages 4\n"
      "  mpirun -np 8 penstock profile --links -o cluster.toml\n"
      "  penstock profile --device -o device.toml");
  command->callback([arguments, command, &run] {
    if (!arguments->links && !arguments->device && arguments->recipe.words.empty())
      throw CLI::RequiredError("recipe");
    run = [arguments, command] { return run_profile(*command, *arguments); };
  });
}

}  // namespace penstock::tools
