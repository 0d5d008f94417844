#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <iostream>
#include <memory>
#include <string>

#include "runtime/job/job.h"
#include "runtime/recognise/tune_decoding.h"
#include "tools/cli/ctc_options.h"
#include "tools/cli/launch.h"
#include "tools/cli/options.h"
#include "tools/cli/process_end.h"
#include "tools/commands/commands.h"
#include "tools/reports/tuning_report.h"

// `penstock tune` evaluates a checkpoint with many weights of a language model at once, and prints
// the options that recognised best. It writes nothing but the cache of indexes. Exit codes are
// those of `penstock evaluate`.

namespace penstock::tools {
namespace {

constexpr Limits kPoints = {2, 20}, kRounds = {1, runtime::kMostRounds};
constexpr int kUsualBeam = 20;

struct TuneCommand {
  runtime::Trained trained;
  runtime::TestSet test;
  runtime::WeightSearchOptions search;
  std::array<double, 2> lm_weights, word_scores;

  bool json = false;
};

/// Says on standard error how far a search is, for people who wait.
void tell_round(const runtime::WeightSearch& search, const TuneCommand& options) {
  const runtime::TriedWeights& best = search.tried().at(search.best());
  std::cerr << fmt::format("{} weights tried: {:.2f} % with --lm-weight {} --word-score {}\n",
                           search.tried().size(),
                           100 * decisive_rate(best, options.search.by_characters),
                           best.scoring.lm_weight, best.scoring.word_score);
}

int run_tune(TuneCommand options) {
  return runtime::run_job(
      [&](comm::Communicator& world) {
        options.search.lm_weight = {options.lm_weights[0], options.lm_weights[1]};
        options.search.word_score = {options.word_scores[0], options.word_scores[1]};

        const runtime::Tuning tuning = runtime::tune_decoding(
            options.trained, options.test, options.search, world,
            [&](const runtime::WeightSearch& search) { tell_round(search, options); });
        const TuningOutcome outcome{options.trained, options.search, tuning};
        if (world.rank() == 0)
          std::cout << (options.json ? tuning_json(outcome) : tuning_text(outcome));
        return exit_done;
      },
      complain_in_job);
}

/// Adds a range of two numbers.
void takes_range(CLI::App* command, const char* name, std::array<double, 2>& range,
                 const std::string& what) {
  takes_number(command
                   ->add_option(name, range,
                                fmt::format("{}, the lowest and the highest. Default: {:g} {:g}",
                                            what, range[0], range[1]))
                   ->type_name("LOW HIGH"),
               kWeightLimits);
}

void takes_search(CLI::App* command, TuneCommand& options) {
  takes_range(command, "--lm-weights", options.lm_weights, "Range of --lm-weight");
  takes_range(command, "--word-scores", options.word_scores, "Range of --word-score");
  takes_whole(
      command->add_option("--points", options.search.points,
                          fmt::format("Points of each range in the first round. Default: {}",
                                      options.search.points)),
      kPoints);
  takes_whole(
      command->add_option("--rounds", options.search.rounds,
                          fmt::format("Rounds; each further one tries nearer neighbours of the "
                                      "best. Default: {}",
                                      options.search.rounds)),
      kRounds);
  command
      ->add_option_function<std::string>(
          "--metric",
          [&options](const std::string& metric) { options.search.by_characters = metric == "cer"; },
          "What is to be low: wer, word errors, or cer, character errors. Default: wer")
      ->check(CLI::IsMember({"wer", "cer"}));
}

}  // namespace

void add_tune(CLI::App& app, Run& run) {
  auto options = std::make_shared<TuneCommand>();
  options->lm_weights = {options->search.lm_weight.low, options->search.lm_weight.high};
  options->word_scores = {options->search.word_score.low, options->search.word_score.high};
  options->trained.decoding.beam = kUsualBeam;
  CLI::App* command = app.add_subcommand(
      "tune", "Find the weights of a language model that recognise best in CTC's beam search");
  takes_checkpoint(command, options->trained.checkpoint);
  takes_test_manifests(command, options->test);
  takes_ranks(command, options->trained, options->test.window);
  command->add_option("--decoder", options->trained.decoder,
                      "ctc: decode by the CTC that decoder.ctc_weight trained beside another "
                      "decoder. Default: the model's decoder");
  takes_whole(
      command->add_option("--beam", options->trained.decoding.beam,
                          fmt::format("Hypotheses of the beam search: tune with those that you "
                                      "will decode with. Default: {}",
                                      kUsualBeam)),
      {2, kBeam.high});
  takes_ctc_decoding(command, options->trained.ctc);
  takes_search(command, *options);
  takes_verified(command, options->trained.verified);
  command->add_flag("--json", options->json, "Print one JSON object; its rates are fractions");
  command->footer(
      "Tune on recordings that are neither trained on nor tested.\n"
      "\n"
      "Examples:\n"
      "  penstock tune outputs/digits dev.jsonl --lm words.arpa\n"
      "  mpirun -np 4 penstock tune outputs/digits dev.jsonl --replicas 4 --beam 50 \\\n"
      "    --lm words.binary --lm-weights 0 3 --metric cer");
  command->callback([options, &run] { run = [options] { return run_tune(*options); }; });
}

}  // namespace penstock::tools
