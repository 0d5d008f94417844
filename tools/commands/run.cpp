#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/supervisor/supervisor.h"
#include "tools/cli/options.h"
#include "tools/cli/process_end.h"
#include "tools/cli/recipe.h"
#include "tools/commands/commands.h"

// `penstock run` trains a recipe under a supervisor (runtime/supervisor/supervisor.h), which starts
// mpirun itself. Its exit codes are its own, whatever mpirun returns: 0 when all steps are done, 85
// after a stop that lost nothing, 86 if it gives up after a hang, 130 after a second Ctrl-C, else
// the code of the error that ended the ranks.

namespace penstock::tools {
namespace {

struct RunArguments {
  RecipeArguments recipe;
  runtime::SupervisorOptions how;
  std::vector<std::string> mpi_options;
};

void add_hosts(CLI::App* command, runtime::SupervisorOptions& how) {
  auto* hosts = command->add_option_group("hosts");
  hosts
      ->add_option("--hosts", how.hosts.file,
                   "Hosts and their ranks, with lines such as node-1 slots=4. The file is read "
                   "again during the run")
      ->check(CLI::ExistingFile);
  hosts->add_option("--discover", how.hosts.discover,
                    "Shell command that prints such a list. It is run again while the run goes on");
  hosts->add_flag("--slurm", how.hosts.slurm, "Take the hosts of this job's Slurm allocation");
  hosts->require_option(0, 1);
  command->add_option("--agent", how.agent,
                      "Command that starts another on a host; ssh, or srun with --slurm, if it is "
                      "left out");
  takes_number(command->add_option("--discover-seconds", how.discover_s,
                                   "Time between two looks at the hosts"),
               {0.1, 86400});
  takes_number(command->add_option("--wait-seconds", how.wait_s,
                                   "Time to wait for a host if none can be used"),
               {0, 1e9});
  takes_number(command->add_option("--exclude-seconds", how.host_limits.excluded_s,
                                   "Time for which a host is left out after three failures"),
               {0, 1e9});
}

void add_limits(CLI::App* command, runtime::SupervisorOptions& how) {
  takes_whole(command->add_option("--max-restarts", how.restarts.without_progress,
                                  "Restarts in a row without a new checkpoint"),
              {0, 1000});
  takes_number(command->add_option("--max-seconds", how.notices.max_seconds,
                                   "Stop with a checkpoint before so much time is over; 0: never"),
               {0, 1e9});
  takes_number(command->add_option("--stop-seconds", how.stop_s,
                                   "Time that ranks may take to save when asked to stop"),
               {1, 1e6});
  takes_number(command->add_option("--action-seconds", how.watch.action_s,
                                   "Minimum time without progress that counts as a hang; actions "
                                   "may take three times their planned time"),
               {1, 1e6});
  takes_number(command->add_option("--start-seconds", how.watch.start_s,
                                   "The same while ranks start and read data"),
               {1, 1e6});
  takes_number(command->add_option("--save-seconds", how.watch.save_s, "The same during a save"),
               {1, 1e6});
  takes_number(command->add_option("--validation-seconds", how.watch.validation_s,
                                   "The same during a validation"),
               {1, 1e6});
  command->add_flag("--restart-stragglers", how.restart_stragglers,
                    "With several hosts, save and start again when a rank is much slower "
                    "than others");
  command->add_option("--notice-file", how.notices.file,
                      "Stop with a checkpoint when this file appears");
  command->add_option("--notice-command", how.notices.command,
                      "Stop with a checkpoint when this shell command succeeds; it is run every "
                      "five seconds");
  command
      ->add_option("--notice-cloud", how.notices.cloud,
                   "Stop with a checkpoint when this cloud's metadata service says that the "
                   "machine will be taken away: aws, gcp or azure")
      ->check(CLI::IsMember({"aws", "gcp", "azure"}));
}

void add_metrics(CLI::App* command, runtime::SupervisorOptions& how) {
  CLI::Option* port =
      takes_whole(command->add_option("--metrics-port", how.metrics.port,
                                      "Port at which Prometheus reads /metrics; 0: a free one"),
                  {0, 65535})
          ->default_str("");
  command
      ->add_option("--metrics-address", how.metrics.address,
                   "Address of this machine to listen on; 0.0.0.0 lets any machine read")
      ->needs(port);
}

/// Returns the path of this program, by which all hosts start it.
std::string program_path() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

int run_run(const RunArguments& arguments) {
  runtime::SupervisorOptions how = arguments.how;
  how.recipe = arguments.recipe.load();
  how.words = arguments.recipe.words;
  how.program = program_path();
  how.version = PENSTOCK_VERSION;
  how.mpi_options = arguments.mpi_options;
  how.say = [](const std::string& text) { std::cerr << fmt::format("penstock run: {}\n", text); };
  return runtime::Supervisor(how).run();
}

}  // namespace

void add_run(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command =
      app.add_subcommand("run", "Train a recipe under mpirun, and restart it after failures");
  add_recipe(command, arguments->recipe);
  command->option_defaults()->always_capture_default();
  add_hosts(command, arguments->how);
  add_limits(command, arguments->how);
  add_metrics(command, arguments->how);
  command->add_option("--mpirun", arguments->how.mpirun, "Program that starts the ranks");
  command->add_option("--mpi-option", arguments->mpi_options,
                      "Option for mpirun, such as --mpi-option=--report-bindings; may be repeated");
  command->footer(
      "Always resumes from the newest checkpoint of trainer.output. SIGTERM, SIGUSR1 and Ctrl-C\n"
      "end the run after a step, with a checkpoint and exit code 85. penstock watch shows a run.\n"
      "\nExamples:\n"
      "  penstock run configs/recipes/quickstart.toml\n"
      "  penstock run my.toml pipeline.stages=4 --hosts hosts.txt --max-seconds 3500\n"
      "  penstock run my.toml --discover /etc/mpi/discover_hosts.sh");
  command->callback([arguments, &run] { run = [arguments] { return run_run(*arguments); }; });
}

}  // namespace penstock::tools
