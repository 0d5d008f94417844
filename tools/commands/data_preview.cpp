#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/file_handle.h"
#include "base/quantities.h"
#include "runtime/checkpoint/new_folder.h"
#include "runtime/corpus/training_preview.h"
#include "tools/cli/launch.h"
#include "tools/cli/options.h"
#include "tools/cli/process_end.h"
#include "tools/cli/recipe.h"
#include "tools/commands/commands.h"
#include "tools/reports/preview_folder.h"

// `penstock data preview` loads the corpus of a recipe as a training does, makes some utterances of
// an epoch, and writes them into a new folder: WAV files, and a page that shows and plays them. The
// folder appears under its name once it is complete. Besides, only the cache of indexes is written.
//
// Exit code 2: options, or a folder that is there already. Exit code 3: data that training would
// refuse, or a recording of the chosen utterances that can't be read. Exit code 4: a full disk.

namespace penstock::tools {
namespace {

struct PreviewOptions {
  RecipeArguments recipe;
  std::filesystem::path folder;
  int utterances = 8;
  int epoch = 0;
};

/// Makes the folder. Its errors name the option.
std::unique_ptr<runtime::NewFolder> made_folder(const std::filesystem::path& path) try {
  return std::make_unique<runtime::NewFolder>(path);
} catch (const CheckpointError& error) {
  throw ConfigError(fmt::format("--output: {}", error.what()));
} catch (const FileError& error) {
  throw ConfigError(fmt::format("--output: {}", error.what()));
}

/// Returns the recipe's file, for the page's title.
std::string page_title(const RecipeArguments& recipe) {
  for (const std::string& word : recipe.words)
    if (word.find('=') == std::string::npos) return word;
  return "a recipe without a file";
}

int run_preview(const PreviewOptions& options) {
  const configs::Config config = options.recipe.load();
  const auto folder = made_folder(options.folder);
  runtime::TrainingPreview preview(config, options.epoch);
  const auto chosen = preview.chosen(static_cast<std::uint64_t>(options.utterances));
  PreviewFolder written(
      folder->partial(), config,
      {page_title(options.recipe), options.epoch, chosen.size(), preview.draws()});
  for (const std::uint64_t number : chosen) written.add(preview.at(number));
  written.finish();
  folder->commit();
  std::cout << fmt::format(
      "{}: {} of {}, as in epoch {}\n", (options.folder / "index.html").string(), chosen.size(),
      counted(static_cast<std::int64_t>(preview.draws()), "utterance"), options.epoch);
  return exit_done;
}

}  // namespace

void add_data_preview(CLI::App& data, Run& run) {
  const auto options = std::make_shared<PreviewOptions>();
  CLI::App* command = data.add_subcommand(
      "preview", "Write what a training hears: WAV files, and a page with waveforms and features");
  add_recipe(command, options->recipe);
  takes_folder(
      command->add_option("-o,--output", options->folder, "The preview's folder, which is made"),
      FolderUse::written)
      ->required();
  command->option_defaults()->always_capture_default();
  takes_whole(command->add_option("--utterances", options->utterances,
                                  "Utterances to show, evenly spaced in the training data"),
              {1, 100});
  takes_whole(command->add_option("--epoch", options->epoch,
                                  "The epoch, counted from 0, whose augmentation is shown"),
              {0, 1e9});
  command->footer(
      "Speed, room, noise, gain, codec and SpecAugment are those that a training\n"
      "draws for these utterances in that epoch, bit for bit. Open FOLDER/index.html\n"
      "in a browser.\n\n"
      "Examples:\n"
      "  penstock data preview recipe.toml -o preview\n"
      "  penstock data preview recipe.toml trainer.seed=2 --epoch 3 --utterances 20 -o preview");
  command->callback(
      [options, &run] { run = on_rank_0([options] { return run_preview(*options); }); });
}

}  // namespace penstock::tools
