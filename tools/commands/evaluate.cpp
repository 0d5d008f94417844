#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>

#include "runtime/job/job.h"
#include "runtime/recognise/evaluate_manifests.h"
#include "tools/cli/launch.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/process_end.h"
#include "tools/commands/commands.h"
#include "tools/reports/recognition_report.h"

// `penstock evaluate` takes these steps:
// 1. Rank 0 checks that the file of --results can be started or continued. Nothing is read before.
// 2. All ranks open the checkpoint and load the manifests. With --results and --resume, rank 0
//    passes over the utterances that the file has already.
// 3. Utterances are recognised in windows. Rank 0 appends a line for each to --results, in order.
// 4. Rank 0 prints error rates of all utterances, of each manifest, and of each value of --by.
//
// It writes to --results, its FILE.progress and the cache of indexes (data.cache); checkpoint,
// manifests and audio stay as they are. Exit codes: 2 for options, or results of something else; 3
// for data, or more failing recordings than the training allows; 4 for a checkpoint.

namespace penstock::tools {
namespace {

struct EvaluateOptions {
  runtime::Trained trained;
  runtime::TestSet test;
  ResultFileOptions results{"--results"};
  bool json = false;
};

/// Checks the results' file on rank 0, which alone writes it.
void check(const EvaluateOptions& options) {
  if (options.results.path.empty() || launched_rank() != 0) return;
  check_result_file(options.results);
  std::vector<NamedFile> read;
  for (const std::string& manifest : options.test.manifests) read.push_back({"manifest", manifest});
  check_outputs(
      {{"--results", options.results.path}, {"--results", progress_file(options.results.path)}},
      read);
}

/// Writes utterances to the file of results as they come, and continues after those of an earlier
/// run.
runtime::EvaluationObserver writing_to(std::unique_ptr<ResultFile>& file,
                                       const EvaluateOptions& options) {
  runtime::EvaluationObserver observer;
  if (options.results.path.empty()) return observer;
  // The file is opened only here, when the identity of checkpoint, manifests and fields is known.
  observer.begin = [&](const std::string& identity) -> std::optional<runtime::EvaluationTotals> {
    file = std::make_unique<ResultFile>(options.results, identity);
    if (file->state().empty()) return std::nullopt;
    return runtime::parse_totals(file->state());
  };
  observer.take = [&](std::span<const runtime::JudgedUtterance> utterances,
                      const runtime::EvaluationTotals& totals) {
    std::string lines;
    for (const runtime::JudgedUtterance& utterance : utterances)
      lines += judged_line(utterance, options.test);
    file->append(lines, to_text(totals));
  };
  return observer;
}

/// Runs on every rank. The time that is reported includes loading.
int run_evaluate(const EvaluateOptions& options) {
  return runtime::run_job(
      [&](comm::Communicator& world) {
        const auto start = std::chrono::steady_clock::now();
        check(options);
        std::unique_ptr<ResultFile> file;
        const runtime::EvaluationTotals totals = runtime::evaluate_checkpoint(
            options.trained, options.test, world, writing_to(file, options));
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        const EvaluationOutcome outcome{options.test, totals, took.count(),
                                        options.trained.decoding.nbest};
        if (world.rank() == 0)
          std::cout << (options.json ? evaluation_json(outcome) : evaluation_text(outcome));
        return exit_done;
      },
      complain_in_job);
}

void takes_results(CLI::App* command, ResultFileOptions& results) {
  CLI::Option* file = command->add_option("--results", results.path,
                                          "File to write a JSON line to for each utterance, as "
                                          "they come: reference, hypothesis, edits");
  command
      ->add_flag("--resume", results.resume,
                 "Go on after what FILE has of the same manifests, if it is there")
      ->needs(file);
}

}  // namespace

void add_evaluate(CLI::App& app, Run& run) {
  auto options = std::make_shared<EvaluateOptions>();
  CLI::App* command =
      app.add_subcommand("evaluate", "Measure the word and character error rates of a checkpoint");
  takes_checkpoint(command, options->trained.checkpoint);
  takes_test_manifests(command, options->test);
  command
      ->add_option("--by", options->test.by,
                   "Field of the manifests' lines, speaker say: count for each of its values as "
                   "well. May be given several times")
      ->allow_extra_args(false);
  takes_recognition(command, options->trained, options->test.window);
  takes_chunks(command, options->trained.chunking);
  takes_results(command, options->results);
  command->add_flag("--json", options->json, "Print one JSON object; its rates are fractions");
  command->footer(
      "Runs alone, or under mpirun with stages × replicas ranks. The training may have had "
      "others.\n"
      "\n"
      "Examples:\n"
      "  penstock evaluate outputs/quickstart outputs/quickstart/data/held-out.jsonl\n"
      "  mpirun -np 4 penstock evaluate outputs/digits --replicas 2 clean.jsonl noisy.jsonl \\\n"
      "    --by speaker --json");
  command->callback([options, &run] { run = [options] { return run_evaluate(*options); }; });
}

}  // namespace penstock::tools
