#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "configs/config.h"
#include "runtime/checkpoint/checkpoint.h"
#include "tools/cli/output_file.h"

namespace CLI {
class App;
}  // namespace CLI

namespace penstock::tools {

/// A recipe on the command line: a TOML file and key=value overrides.
struct RecipeArguments {
  std::vector<std::string> words;

  /// Loads the configuration. The first word that is no override names the file. ConfigError as
  /// from load_config, and for a second file.
  [[nodiscard]] configs::Config load() const;
  /// Returns the files that the command reads, so that none is overwritten: `others`, the recipe's
  /// file with what it includes, and those that `config`, the result of load(), names.
  [[nodiscard]] std::vector<NamedFile> files(const configs::Config& config,
                                             std::vector<NamedFile> others = {}) const;
};

void add_recipe(CLI::App* command, RecipeArguments& arguments);

/// Returns a recipe, as TOML, that starts from the weights of a checkpoint: its model, labels and
/// features, and trainer.init = `path`, which opened the checkpoint. ConfigError for a checkpoint
/// of a server that keeps a model of pieces.
[[nodiscard]] std::string saved_recipe_text(const runtime::Checkpoint& checkpoint,
                                            const std::filesystem::path& path);

}  // namespace penstock::tools
