#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/checkpoint/average/average_checkpoints.h"
#include "runtime/checkpoint/average/chosen_checkpoints.h"
#include "tools/cli/launch.h"
#include "tools/cli/options.h"
#include "tools/cli/process_end.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"

// `penstock average` writes a new checkpoint with the mean of the weights of several. They are
// named one by one, or chosen from an output folder: the last ones, or those that were best in
// validation. Memory does not grow with the model. The folder appears under its name
// once it is complete, and an existing one is not touched.
//
// Exit code 2: a wrong number of checkpoints is named. Exit code 4: a checkpoint is damaged, two of
// them are not of one model, the output folder has too few, or the folder is there already.

namespace penstock::tools {
namespace {

struct AverageCommand {
  std::vector<std::filesystem::path> named;
  std::filesystem::path folder;
  int last = 0, best = 0;  // 0: not given
  bool json = false;
};

std::vector<std::filesystem::path> chosen(const AverageCommand& options) {
  if (options.last == 0 && options.best == 0) return options.named;
  if (options.named.size() != 1)
    throw ConfigError(fmt::format(
        "--last and --best choose from one output folder, but {} folders are named: name one, or "
        "leave the option out and name each checkpoint",
        options.named.size()));
  return options.last > 0 ? runtime::last_checkpoints(options.named.front(), options.last)
                          : runtime::best_checkpoints(options.named.front(), options.best);
}

int run_average(const AverageCommand& options) {
  const runtime::AverageReport report =
      runtime::average_checkpoints(chosen(options), options.folder);
  if (options.json) {
    nlohmann::ordered_json averaged = nlohmann::ordered_json::array();
    for (const runtime::AveragedCheckpoint& each : report.averaged)
      averaged.push_back({{"step", each.step}, {"folder", each.folder}});
    std::cout << json_line(nlohmann::ordered_json{{"averaged", averaged},
                                                  {"parameters", report.parameters},
                                                  {"folder", options.folder.string()}});
    return exit_done;
  }
  for (const runtime::AveragedCheckpoint& each : report.averaged)
    std::cout << fmt::format("step {} of {}\n", each.step, each.folder);
  std::cout << fmt::format(
      "the mean of {} in each of {} is now {}\n", counted(report.parameters, "number"),
      counted(std::ssize(report.averaged), "checkpoint"), options.folder.string());
  return exit_done;
}

}  // namespace

void add_average(CLI::App& app, Run& run) {
  const auto options = std::make_shared<AverageCommand>();
  CLI::App* command = app.add_subcommand(
      "average", "Make a checkpoint of the mean of the weights of several checkpoints");
  command
      ->add_option(
          "checkpoints", options->named,
          "Checkpoints' folders; or one output folder, with --last or --best; or URLs of these")
      ->type_name("FOLDER|URL")
      ->required();
  takes_folder(
      command->add_option("-o,--output", options->folder, "The checkpoint's folder, which is made"),
      FolderUse::written)
      ->required();
  constexpr Limits kCheckpoints = {2, 100000};
  CLI::Option* last =
      takes_whole(command->add_option("--last", options->last, "Take so many newest checkpoints"),
                  kCheckpoints);
  takes_whole(command->add_option("--best", options->best,
                                  "Take so many that were best in validation, by metrics.jsonl "
                                  "and the metric of BEST"),
              kCheckpoints)
      ->excludes(last);
  command->add_flag("--json", options->json, "Print one JSON object");
  command->footer(
      "The mean has weights and running statistics, and no optimizer state. No run resumes\n"
      "from it; all other commands and trainer.init take it. trainer.keep says how many\n"
      "checkpoints a training leaves. Exit code 4: a checkpoint is damaged, or two are not of\n"
      "one model.\n\n"
      "Examples:\n"
      "  penstock average outputs/mine --best 5 -o mean\n"
      "  penstock average outputs/mine --last 10 -o mean\n"
      "  penstock average outputs/a/BEST outputs/b/BEST -o mean");
  command->callback(
      [options, &run] { run = on_rank_0([options] { return run_average(*options); }); });
}

}  // namespace penstock::tools
