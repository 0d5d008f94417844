#include "tools/sweep/sweep.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/encoded_text.h"
#include "base/error.h"
#include "runtime/checkpoint/output_lock.h"
#include "runtime/supervisor/stop_requests.h"
#include "tools/cli/launch.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/process_end.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"
#include "tools/sweep/slurm_script.h"
#include "tools/sweep/sweep_page.h"
#include "tools/sweep/sweep_request.h"

// `penstock sweep` trains a recipe with several values of its keys (tools/sweep/), and ends with a
// table of all runs, sweep.csv and sweep.html. It writes to its folder and nowhere else.
//
// Exit codes: 0 when each run is done, has failed or was left behind, or with --show; 85 after a
// stop that lost nothing; 130 after a second Ctrl-C; 2 for settings that can't be used, also if a
// run found that; the code of the first failed run if all have failed; 1 if halving is left without
// a finite metric. With --only it is that run's own.

namespace penstock::tools {
namespace {

struct SweepCommand {
  SweepRequest request;
  std::string folder = "outputs/sweep";
  std::int64_t parallel = 1, only = 0;
  bool show = false, slurm = false, retry = false, supervise = false;
};

std::string this_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

void say_of_sweep(const std::string& text) {
  std::cerr << fmt::format("penstock sweep: {}\n", text) << std::flush;
}

/// Returns the words of a task of the array; --only follows.
std::vector<std::string> task_words(const SweepCommand& command) {
  const SweepRequest& request = command.request;
  std::vector<std::string> words = {this_program(), "sweep"};
  words.insert(words.end(), request.recipe.words.begin(), request.recipe.words.end());
  words.insert(words.end(), {"--output", command.folder});
  if (request.runs > 0)
    words.insert(words.end(), {"--runs", fmt::format("{}", request.runs), "--seed",
                               fmt::format("{}", request.seed)});
  if (!request.metric.empty()) words.insert(words.end(), {"--metric", request.metric});
  if (command.supervise) words.emplace_back("--supervise");
  return words;
}

/// Writes sweep.csv and sweep.html, and prints the table.
void report_sweep(const SweepCommand& command, const SweepOutcome& outcome) {
  const std::filesystem::path folder = command.folder;
  write_output((folder / "sweep.csv").string(), sweep_csv(outcome));
  write_output((folder / "sweep.html").string(), sweep_page(outcome));
  std::cout << sweep_table(outcome, output_columns())
            << fmt::format("page: {}\n", shell_word((folder / "sweep.html").string()));
}

/// Says how far a sweep is that was stopped.
void say_stopped(const SweepOutcome& outcome) {
  const auto ended = std::ranges::count_if(outcome.runs, [](const SweptRun& run) {
    return run.result.state == RunState::done || run.result.state == RunState::failed;
  });
  say_of_sweep(fmt::format("stopped: {} of {} runs have ended. Start the same command to go on",
                           ended, outcome.runs.size()));
}

/// Returns the exit code of a sweep that went to its end.
int code_of_runs(const SweepFolder& folder, const SweepOutcome& outcome) {
  for (const SweptRun& run : outcome.runs)
    if (run.result.state != RunState::failed) return exit_done;
  return folder.code(1).value_or(exit_other);
}

Sweep checked_sweep(const SweepCommand& command, const CheckedSweep& checked,
                    const SweepFolder& folder) {
  SweepTraining training{{this_program(), command.supervise ? "run" : "train"},
                         checked.steps,
                         static_cast<std::size_t>(command.parallel)};
  training.command.insert(training.command.end(), checked.words.begin(), checked.words.end());
  return {checked.plan, folder, training, say_of_sweep};
}

/// Reports the runs that the folder knows.
int show_sweep(const SweepCommand& command, CheckedSweep& checked, const SweepFolder& folder) {
  (void)folder.holds(checked.plan);
  const std::optional<SweepPlan> saved = folder.saved();
  if (!saved)
    throw ConfigError(fmt::format(
        "--show: {} holds no sweep yet: give the command without --show first", command.folder));
  checked.plan.points = saved->points;
  report_sweep(command, checked_sweep(command, checked, folder).outcome());
  return exit_done;
}

int train_sweep(const SweepCommand& command, const CheckedSweep& checked,
                const SweepFolder& folder) {
  Sweep sweep = checked_sweep(command, checked, folder);
  runtime::StopRequests stop({});
  const auto run = static_cast<std::size_t>(command.only);
  const SweepEnd end = run > 0 ? sweep.train_only(run, stop) : sweep.train(stop);
  if (end == SweepEnd::interrupted) return exit_interrupted;
  if (end == SweepEnd::misconfigured) return exit_usage;
  if (run > 0)
    return end == SweepEnd::stopped ? exit_stopped : folder.code(run).value_or(exit_other);
  const SweepOutcome outcome = sweep.outcome();
  report_sweep(command, outcome);
  const int code = code_of_runs(folder, outcome);
  if (end == SweepEnd::none_left && code == exit_done) return exit_other;
  if (end == SweepEnd::done || end == SweepEnd::none_left) return code;
  say_stopped(outcome);
  return exit_stopped;
}

void check_options(const CLI::App& app, const SweepCommand& command) {
  const bool halving = command.request.halving.factor > 0;
  if (command.request.runs == 0) require_absent(app, {"--seed"}, "a random search, with --runs");
  if (!halving) require_absent(app, {"--min-steps"}, "successive halving, with --halving");
  if (halving && (command.only > 0 || command.slurm))
    throw ConfigError(
        "--halving: runs wait for each other at each rung, which tasks of an array can't: leave "
        "--only and --slurm out, and give --parallel the runs that your machine or job can take");
  if (command.only > 0 && command.slurm)
    throw ConfigError("--only is for the tasks of the script that --slurm prints: leave one out");
  if (command.retry && (command.show || command.slurm))
    throw ConfigError(
        "--retry trains failed runs again, and --show and --slurm train nothing: leave one out");
}

/// Begins or continues the sweep under the folder's lock, which a sweep keeps. Tasks of an array
/// share the folder: they lock it only to write sweep.json, and each run has a lock of its own.
std::unique_ptr<runtime::OutputLock> open_folder(const SweepCommand& command,
                                                 const SweepFolder& folder, const SweepPlan& plan) {
  const bool shared = command.only > 0 || command.slurm;
  if (folder.holds(plan) && shared) return nullptr;
  auto lock = std::make_unique<runtime::OutputLock>(folder.path(), kSweepLock);
  folder.open(plan);
  if (shared) lock.reset();
  return lock;
}

int run_sweep(const CLI::App& app, const SweepCommand& command) {
  check_options(app, command);
  const SweepFolder folder(command.folder);
  CheckedSweep checked = check_sweep(command.request, folder.saved());
  const auto runs = static_cast<std::int64_t>(checked.plan.points.size());
  if (command.only > runs)
    throw ConfigError(
        fmt::format("--only {}: the sweep has {} runs, numbered from 1", command.only, runs));
  if (command.show) return show_sweep(command, checked, folder);
  const std::unique_ptr<runtime::OutputLock> lock = open_folder(command, folder, checked.plan);
  if (command.slurm) {
    std::cout << slurm_script(task_words(command), checked.plan.points.size(),
                              static_cast<std::size_t>(command.parallel));
    return exit_done;
  }
  if (command.retry && command.only > 0)
    folder.forget_failure(static_cast<std::size_t>(command.only));
  else if (command.retry)
    for (std::size_t run = 1; run <= checked.plan.points.size(); ++run) folder.forget_failure(run);
  return train_sweep(command, checked, folder);
}

void add_search_options(CLI::App* command, SweepRequest& request) {
  takes_whole(command->add_option("--runs", request.runs,
                                  "Runs of a random search, which draws from ranges and lists. "
                                  "Default: the grid, all combinations of lists"),
              {1, kMostRuns})
      ->default_str("");
  takes_seed(command->add_option("--seed", request.seed, "Seed of a random search"));
  command
      ->add_option("--metric", request.metric,
                   "What is to be low: wer, cer or loss. Default: "
                   "trainer.best_metric")
      ->check(CLI::IsMember({"wer", "cer", "loss"}));
  takes_whole(command->add_option("--halving", request.halving.factor,
                                  "Successive halving: at each rung, one run in so many goes on"),
              {2, 1000})
      ->default_str("");
  takes_whole(command->add_option("--min-steps", request.halving.min_steps,
                                  "Steps of the first rung, at least"),
              {1, 1e9});
}

}  // namespace

void add_sweep(CLI::App& app, Run& run) {
  const auto options = std::make_shared<SweepCommand>();
  CLI::App* command =
      app.add_subcommand("sweep", "Train a recipe with several values of its keys, and compare");
  add_recipe(command, options->request.recipe);
  command->option_defaults()->always_capture_default();
  add_search_options(command, options->request);
  takes_folder(command->add_option("-o,--output", options->folder, "The sweep's folder"),
               FolderUse::written);
  takes_whole(command->add_option("--parallel", options->parallel, "Runs at once"), {1, 1024});
  command->add_flag("--supervise", options->supervise,
                    "Train each run by penstock run, which starts mpirun with stages × replicas "
                    "ranks. Default: by penstock train, one process a run");
  command->add_flag("--retry", options->retry, "Train failed runs again");
  command->add_flag("--show", options->show, "Train nothing: only write the table and the page");
  command->add_flag("--slurm", options->slurm,
                    "Print a job script for sbatch, an array with a task for each run");
  takes_whole(command->add_option("--only", options->only, "Train this run alone, by its number"),
              {1, kMostRuns})
      ->default_str("");
  command->footer(
      "key=a,b,c lists values, and key=LOW..HIGH@log or @linear is a range. The same command\n"
      "continues a sweep that was stopped, and does nothing twice. Ctrl-C stops all runs with a\n"
      "save, exit code 85.\n\n"
      "Examples:\n"
      "  penstock sweep my.toml optimizer.learning_rate=1e-3,2e-3,4e-3 model.dropout=0,0.2\n"
      "  penstock sweep my.toml optimizer.learning_rate=1e-4..1e-2@log --runs 27 --halving 3\n"
      "  penstock sweep my.toml trainer.seed=1,2,3 --parallel 3 --slurm > sweep.sh");
  command->callback([options, command, &run] {
    run = on_rank_0([options, command] { return run_sweep(*command, *options); });
  });
}

}  // namespace penstock::tools
