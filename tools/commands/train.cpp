#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/quantities.h"
#include "runtime/job/heartbeat.h"
#include "runtime/job/job.h"
#include "runtime/trainer/trainer.h"
#include "tools/cli/launch.h"
#include "tools/cli/process_end.h"
#include "tools/cli/progress.h"
#include "tools/cli/recipe.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"

// `penstock train` loads the recipe, joins the job, trains (runtime::train()), and reports.
// Progress goes to standard error, of rank 0 alone, and the report to standard output, so that
// --json leaves one object there. The trainer writes to trainer.output and to the cache of indexes,
// and nowhere else.
//
// Exit codes: 0 once trainer.steps are done, or validations no longer improve
// (trainer.early_stopping_patience), also if that was so before; 85 after a stop on request,
// with a checkpoint; 2 for a recipe or ranks that do not suit it; 3 for data; 4 for a checkpoint; 1
// for a device, a lost rank, or a training that diverged.

namespace penstock::tools {
namespace {

struct TrainOptions {
  RecipeArguments recipe;
  bool json = false;
};

/// Formats audio seconds per second, below 10 with two digits, since large models are slower than
/// real time.
std::string speed(double rate) {
  return rate < 10 ? fmt::format("{:.2g}", rate) : fmt::format("{:.0f}", rate);
}

/// Formats what follows the bar. A skipped step is one whose gradients were not finite.
std::string facts(const runtime::StepReport& r) {
  return fmt::format("loss {:.3f}  norm {:.2f}  {} audio s/s{}", r.loss, r.gradient_norm,
                     speed(r.audio_seconds_per_second()), r.skipped ? "  skipped" : "");
}

std::string facts(const runtime::EvaluationReport& r) {
  const std::string left_out =
      r.skipped > 0 ? fmt::format(", {} left out", counted(r.skipped, "utterance")) : "";
  std::string text = fmt::format("step {}: validation loss {:.3f}, WER {:.2f} %, CER {:.2f} %{}",
                                 r.step, r.loss, 100 * r.wer, 100 * r.cer, left_out);
  for (const runtime::PartReport& part : r.parts)
    text += part.utterances == 0 ? fmt::format("\n  {}: no utterance was heard", part.manifest)
                                 : fmt::format("\n  {}: WER {:.2f} %, CER {:.2f} %", part.manifest,
                                               100 * part.wer, 100 * part.cer);
  return text;
}

/// Returns an observer that shows progress on standard error, with validations as lines of their
/// own.
runtime::TrainingObserver show(std::unique_ptr<Progress>& progress) {
  runtime::TrainingObserver observer;
  observer.begin = [&](std::int64_t done, std::int64_t steps) {
    progress = std::make_unique<Progress>(std::cerr, error_is_terminal(), done, steps);
  };
  observer.step = [&](const runtime::StepReport& r) { progress->show(r.step, facts(r)); };
  observer.validation = [&](const runtime::EvaluationReport& r) { progress->say(facts(r)); };
  observer.note = [](const std::string& text) { std::cerr << text << '\n'; };
  return observer;
}

/// Says why there is no step to train, and how to train on.
std::string nothing_left(const runtime::TrainingSummary& s) {
  const std::string where =
      fmt::format("nothing left to do: the checkpoint {} is already at step {}",
                  s.checkpoint.string(), s.last_step.step);
  if (s.early_end.empty()) return where + ", the last one\n";
  return fmt::format(
      "{}, where the run ended early: {}. To train on up to trainer.steps, add the override\n"
      "  trainer.early_stopping_patience=0\n"
      "or a larger number, which waits for more validations.\n",
      where, s.early_end);
}

/// Prints the summary. The loss is null if no step ran, and validation is left out if none did.
void report(const runtime::TrainingSummary& s, bool as_json) {
  using json = nlohmann::ordered_json;
  const double rate = s.seconds > 0 ? s.audio_seconds / s.seconds : 0;
  if (as_json) {
    json object{{"steps", s.steps},
                {"skipped", s.skipped},
                {"step", s.last_step.step},
                {"loss", s.steps > 0 ? json(s.last_step.loss) : json()},
                {"utterances", s.utterances},
                {"parameters", s.parameters},
                {"audio_s_per_s", rate},
                {"seconds", s.seconds},
                {"checkpoint", s.checkpoint.string()}};
    if (s.stopped) object["stopped"] = true;
    if (!s.early_end.empty()) object["early_stopping"] = s.early_end;
    if (s.last_validation.utterances > 0) {
      object["validation_loss"] = s.last_validation.loss;
      object["validation_wer"] = s.last_validation.wer;
      object["validation_cer"] = s.last_validation.cer;
    }
    std::cout << json_line(object);
    return;
  }
  if (s.steps == 0) {
    std::cout << nothing_left(s);
    return;
  }
  std::cout << fmt::format("{}{} ({} skipped) in {} s, {} audio seconds a second; checkpoint {}\n",
                           s.stopped ? "stopped on request: " : "", counted(s.steps, "step"),
                           s.skipped, static_cast<long>(s.seconds), speed(rate),
                           s.checkpoint.string());
  if (!s.early_end.empty()) std::cout << fmt::format("ended early: {}\n", s.early_end);
}

/// Lets a supervisor watch this rank, if one started it.
std::unique_ptr<runtime::Heartbeat> begin_supervised(runtime::TrainingTask& task) {
  const std::optional<std::int64_t> incarnation = runtime::incarnation();
  if (!incarnation) return nullptr;
  runtime::die_with_parent();
  task.incarnation = *incarnation;
  task.activity->place(launched_rank(), -1, -1);
  return std::make_unique<runtime::Heartbeat>(*task.activity);
}

int run_train(const TrainOptions& options) {
  StopSignals signals;
  // The recipe is loaded before the job is joined, so that a wrong one fails at once, on every rank
  // alike.
  runtime::TrainingTask task{options.recipe.load(), runtime::runs_alone(),
                             [&signals] { return signals.asked(); }};
  const std::unique_ptr<runtime::Heartbeat> heartbeat = begin_supervised(task);
  std::unique_ptr<Progress> progress;
  return runtime::run_job(
      [&](comm::Communicator& world) {
        const runtime::TrainingSummary summary = runtime::train(task, world, show(progress));
        progress.reset();
        if (world.rank() == 0) report(summary, options.json);
        const ExitCode code = summary.stopped ? exit_stopped : exit_done;
        runtime::announce_end({.rank = world.rank(), .code = code, .message = summary.early_end});
        return code;
      },
      [&](const std::exception& error, bool alone) {
        progress.reset();  // ends the bar's line before the complaint
        return complain_in_job(error, alone);
      });
}

}  // namespace

void add_train(CLI::App& app, Run& run) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* command = app.add_subcommand("train", "Train a recipe, alone or under mpirun");
  add_recipe(command, options->recipe);
  command->add_flag("--json", options->json, "Print one JSON object at the end");
  command->footer(
      "Under mpirun, -np is pipeline.stages × pipeline.replicas. Alone, one process runs the "
      "whole\n"
      "recipe and gets the same bits. SIGUSR1 or SIGTERM ends a run after its step, with a\n"
      "checkpoint and exit code 85.\n\nExamples:\n"
      "  penstock train my.toml data.train=train.jsonl trainer.steps=2000 trainer.resume=true\n"
      "  mpirun -np 4 penstock train configs/recipes/quickstart.toml");
  command->callback([options, &run] { run = [options] { return run_train(*options); }; });
}

}  // namespace penstock::tools
