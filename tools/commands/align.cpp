#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/job/job.h"
#include "runtime/recognise/evaluate_manifests.h"
#include "tools/cli/launch.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/process_end.h"
#include "tools/cli/subtitle_folder.h"
#include "tools/commands/commands.h"
#include "tools/reports/timed_report.h"

// `penstock align` runs an evaluation, and writes when the words of the manifests' texts are said
// in place of error rates. So it reads manifests, makes windows, continues and fails as `penstock
// evaluate` does. Exit codes: 2 for options, a model without CTC, or results of something else; 3
// for data, such as a text with characters that have no label or with more labels than frames; 4
// for a checkpoint. Only --output, its FILE.progress, the files in --subtitles and the cache of
// indexes are written.

namespace penstock::tools {
namespace {

struct AlignOptions {
  runtime::Trained trained;
  runtime::TestSet test;
  ResultFileOptions output{"--output"};
  std::string format = {};  // empty: as the output's name ends
  SubtitleOptions subtitles = {};
};

bool writes_ctm(const AlignOptions& options) {
  if (options.format.empty()) return options.output.path.ends_with(".ctm");
  return options.format == "ctm";
}

/// Checks the output on rank 0, which alone writes it.
void check(const AlignOptions& options) {
  for (const char* other : {".srt", ".vtt"})
    if (options.format.empty() && options.output.path.ends_with(other))
      throw ConfigError(
          fmt::format("align: {} would hold lines of JSON: name it with .jsonl or .ctm at its end, "
                      "and write subtitles by --subtitles FOLDER",
                      options.output.path));
  if (launched_rank() != 0) return;
  make_subtitle_folder(options.subtitles, {{"--output", options.output.path}});
  if (options.output.path.empty()) return;
  check_result_file(options.output);
  std::vector<NamedFile> read;
  for (const std::string& manifest : options.test.manifests) read.push_back({"manifest", manifest});
  check_outputs(
      {{"--output", options.output.path}, {"--output", progress_file(options.output.path)}}, read);
}

/// The files that rank 0 writes. Without either, lines go to standard output.
struct AlignedFiles {
  std::unique_ptr<ResultFile> words;
  std::unique_ptr<SubtitleFolder> subtitles;
};

void add_subtitles(SubtitleFolder& subtitles, const runtime::JudgedUtterance& utterance) {
  if (utterance.recognised.fault.empty())
    subtitles.add(utterance.source.audio, seconds_before(utterance.source),
                  utterance.recognised.words);
}

/// Writes utterances as they come.
runtime::EvaluationObserver writing_to(AlignedFiles& files, const AlignOptions& options) {
  runtime::EvaluationObserver observer;
  observer.begin = [&](const std::string& identity) -> std::optional<runtime::EvaluationTotals> {
    if (!options.subtitles.folder.empty())
      files.subtitles = std::make_unique<SubtitleFolder>(options.subtitles);
    if (options.output.path.empty()) return std::nullopt;
    files.words = std::make_unique<ResultFile>(
        options.output, identity + (writes_ctm(options) ? "; CTM" : "; JSON"));
    if (files.words->state().empty()) return std::nullopt;
    return runtime::parse_totals(files.words->state());
  };
  observer.take = [&](std::span<const runtime::JudgedUtterance> utterances,
                      const runtime::EvaluationTotals& totals) {
    std::string lines;
    for (const runtime::JudgedUtterance& utterance : utterances) {
      lines += writes_ctm(options) ? aligned_ctm(utterance) : aligned_line(utterance);
      if (files.subtitles) add_subtitles(*files.subtitles, utterance);
    }
    if (files.words)
      files.words->append(lines, to_text(totals));
    else if (!files.subtitles)
      std::cout << lines << std::flush;
  };
  return observer;
}

int run_align(const AlignOptions& options) {
  return runtime::run_job(
      [&](comm::Communicator& world) {
        check(options);
        AlignedFiles files;
        const runtime::EvaluationTotals totals = runtime::evaluate_checkpoint(
            options.trained, options.test, world, writing_to(files, options));
        if (files.subtitles) {
          files.subtitles->finish();
          std::cout << fmt::format("{}: {}\n", options.subtitles.folder,
                                   counted(files.subtitles->files(), "file"));
        }
        if (files.words)
          std::cout << fmt::format(
              "{}: {} aligned\n", options.output.path,
              counted(runtime::report_of(runtime::sum_of(totals)).utterances, "utterance"));
        return exit_done;
      },
      complain_in_job);
}

}  // namespace

void add_align(CLI::App& app, Run& run) {
  auto options = std::make_shared<AlignOptions>();
  options->trained.decoder = "ctc";
  options->trained.timed = runtime::TimedTexts::references;
  CLI::App* command =
      app.add_subcommand("align", "Find when the words of given texts are said, by CTC");
  takes_checkpoint(command, options->trained.checkpoint);
  takes_test_manifests(command, options->test);
  takes_ranks(command, options->trained, options->test.window);
  takes_chunks(command, options->trained.chunking);
  takes_verified(command, options->trained.verified);
  CLI::Option* output = command->add_option("--output,-o", options->output.path,
                                            "File to write to. Default: standard output");
  CLI::Option* resume =
      command
          ->add_flag("--resume", options->output.resume,
                     "Go on after what FILE has of the same manifests, if it is there")
          ->needs(output);
  takes_subtitles(command, options->subtitles)->excludes(resume);
  command
      ->add_option("--format", options->format,
                   "json: a line of a manifest for each utterance; ctm: a line for each word. "
                   "Default: as the end of FILE says, else json")
      ->check(CLI::IsMember({"json", "ctm"}));
  command->footer(
      "Times of JSON count from the utterance's beginning, those of CTM from the recording's.\n\n"
      "Examples:\n"
      "  penstock align outputs/digits calls.jsonl -o words.jsonl\n"
      "  mpirun -np 4 penstock align outputs/digits calls.jsonl --replicas 2 -o words.ctm");
  command->callback([options, &run] { run = [options] { return run_align(*options); }; });
}

}  // namespace penstock::tools
