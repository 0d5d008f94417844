#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/supervisor/run_status.h"
#include "tools/cli/launch.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/process_end.h"
#include "tools/commands/commands.h"
#include "tools/reports/training/line_chart.h"
#include "tools/reports/training/training_report.h"

// `penstock report` reads the output folders of trainings, also of running ones, and writes one
// page about them. It changes nothing in the folders.
//
// Exit code 2: options, a run that is named twice, or a page that can't be written or would replace
// a file of a run. Exit code 3: a file of --results that is none. Exit code 4: a folder that is no
// run.

namespace penstock::tools {
namespace {

struct ReportOptions {
  std::vector<std::filesystem::path> outputs;
  std::string page = "report.html";
  std::vector<std::filesystem::path> results;
  int worst = 10;
  bool data = false;
};

/// Returns a path that all names of a file share, also of one that does not exist yet.
std::filesystem::path shared_name(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path known =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path), error);
  if (error) return path;
  return known.has_filename() ? known : known.parent_path();
}

/// Raises ConfigError if two names mean one folder.
void check_outputs_differ(const std::vector<std::filesystem::path>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (shared_name(outputs[i]) == shared_name(outputs[k]))
        throw ConfigError(fmt::format("OUTPUT: {} and {} are one folder: name each run once",
                                      outputs[k].string(), outputs[i].string()));
}

/// Raises ConfigError for a page that would replace a file which a run writes, even if the run has
/// not written it yet.
void check_page(const ReportOptions& options) {
  const std::filesystem::path page = shared_name(options.page);
  for (const std::filesystem::path& output : options.outputs)
    for (const char* file : {runtime::kMetricsFile, runtime::kIncidentsFile, runtime::kStatusFile})
      if (page == shared_name(output / file))
        throw ConfigError(
            fmt::format("--output: {} is a file of the run {}: give the page a file of its own",
                        options.page, output.string()));
  for (const std::filesystem::path& folder : page.parent_path())
    if (runtime::step_of_checkpoint(folder.string()))
      throw ConfigError(
          fmt::format("--output: {} lies in {}, a checkpoint: write the page to another folder",
                      options.page, folder.string()));
}

int run_report(const ReportOptions& options) {
  std::vector<NamedFile> read;
  for (const std::filesystem::path& file : options.results)
    read.push_back({"--results", file.string()});
  check_outputs_differ(options.outputs);
  check_page(options);
  check_outputs({{"--output", options.page}}, read);
  std::vector<ReportedRun> runs;
  for (const std::filesystem::path& output : options.outputs)
    runs.push_back(read_run(output, options.data ? ReadShares::yes : ReadShares::no));
  std::vector<JudgedResults> results;
  for (const std::filesystem::path& file : options.results)
    results.push_back(read_judged_results(file, static_cast<std::size_t>(options.worst)));
  write_output(options.page, training_report({runs, results}));
  for (const ReportedRun& run : runs)
    for (const std::string& note : run.notes) std::cout << fmt::format("{}: {}\n", run.name, note);
  std::cout << fmt::format("{}\n", options.page);
  return exit_done;
}

}  // namespace

void add_report(CLI::App& app, Run& run) {
  const auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand(
      "report", "Write a page on one or several runs: curves, figures, settings");
  takes_folder(command->add_option("OUTPUT", options->outputs, "Output folders of trainings"),
               FolderUse::read)
      ->required()
      ->expected(1, static_cast<int>(kLineStyles));
  command->add_option("-o,--output", options->page, "The page, one HTML file")
      ->capture_default_str();
  command
      ->add_option("--results", options->results,
                   "A file that penstock evaluate --results wrote: show its error rates, and its "
                   "worst utterances with their recordings. May be given several times")
      ->allow_extra_args(false);
  takes_whole(
      command->add_option("--worst", options->worst, "Utterances of each such file to show"),
      {0, 50})
      ->capture_default_str();
  command->add_flag("--data", options->data,
                    "Read the index of data.train too, or make it, and show which share of an "
                    "epoch each manifest has");
  command->footer(
      "The page opens in any browser, also offline. Several runs share its charts.\n\n"
      "Examples:\n"
      "  penstock report outputs/run\n"
      "  penstock report outputs/small outputs/large -o comparison.html\n"
      "  penstock evaluate outputs/run test.jsonl --results results.jsonl\n"
      "  penstock report outputs/run --results results.jsonl");
  command->callback(
      [options, &run] { run = on_rank_0([options] { return run_report(*options); }); });
}

}  // namespace penstock::tools
