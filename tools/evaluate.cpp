#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "runtime/job/job.h"
#include "runtime/trainer/recognise.h"
#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/launch.h"
#include "tools/options.h"
#include "tools/verified_option.h"

namespace penstock::tools {
namespace {

struct EvaluateOptions {
  runtime::Trained trained;
  runtime::TestSet test;
  bool json = false;
};

void print(const runtime::EvaluationReport& r, bool json) {
  if (json) {
    std::cout << nlohmann::ordered_json{{"wer", r.wer},
                                        {"cer", r.cer},
                                        {"utterances", r.utterances},
                                        {"skipped_utterances", r.skipped},
                                        {"loss", r.loss},
                                        {"word_edits", r.word_edits},
                                        {"words", r.words},
                                        {"character_edits", r.character_edits},
                                        {"characters", r.characters},
                                        {"step", r.step},
                                        {"audio_seconds", r.audio_seconds},
                                        {"seconds", r.seconds}}
                     .dump()
              << '\n';
    return;
  }
  std::cout << fmt::format("{} after step {}: WER {:.2f} % ({} of {}), CER {:.2f} %, loss {:.3f}\n",
                           counted(r.utterances, "utterance"), r.step, 100 * r.wer, r.word_edits,
                           counted(r.words, "word"), 100 * r.cer, r.loss);
  if (r.skipped > 0) std::cout << counted(r.skipped, "utterance") << " left out\n";
}

int run_evaluate(const EvaluateOptions& options) {
  return runtime::run_job(
      [&](comm::Communicator& world) {
        const runtime::EvaluationReport report =
            runtime::evaluate_checkpoint(options.trained, options.test, world);
        if (world.rank() == 0) print(report, options.json);
        return exit_done;
      },
      complain_of);
}

}  // namespace

void add_evaluate(CLI::App& app, Run& run) {
  auto options = std::make_shared<EvaluateOptions>();
  CLI::App* command =
      app.add_subcommand("evaluate", "Measure the word and character error rates of a checkpoint");
  command
      ->add_option("checkpoint", options->trained.checkpoint,
                   "A checkpoint's folder, or an output folder (its newest checkpoint)")
      ->required();
  command->add_option("manifest", options->test.manifest, "Utterances with transcripts")
      ->required();
  command->add_flag("--skip-bad", options->test.skip_bad,
                    "Leave out and count utterances that can't be used, instead of refusing all");
  takes_whole(command->add_option("--threads", options->trained.threads, "Threads of each rank"),
              kThreads);
  takes_verified(command, options->trained.verified);
  command->add_flag("--json", options->json, "Print one JSON object; its rates are fractions");
  command->footer(
      "Runs alone, or under mpirun with one rank for each stage. The training may have had other\n"
      "stages.\n\n"
      "Examples:\n"
      "  penstock evaluate outputs/quickstart outputs/quickstart/data/held-out.jsonl\n"
      "  mpirun -np 2 penstock evaluate outputs/digits test.jsonl --json");
  command->callback([options, &run] { run = [options] { return run_evaluate(*options); }; });
}

}  // namespace penstock::tools
