#pragma once

#include <string>
#include <vector>

#include "configs/config.h"
#include "tools/output_file.h"

namespace CLI {
class App;
}

namespace penstock::tools {

/// A recipe on the command line: a TOML file and key=value overrides.
struct RecipeArguments {
  std::vector<std::string> words;

  /// The first word that is no override names the file. ConfigError as load_config, and for a
  /// second file.
  [[nodiscard]] configs::Config load() const;
  /// What is read, to be kept from being written: `others`, the recipe's file, and those that
  /// `config`, which load() returned, names.
  [[nodiscard]] std::vector<NamedFile> files(const configs::Config& config,
                                             std::vector<NamedFile> others = {}) const;
};

void add_recipe(CLI::App* command, RecipeArguments& arguments);

}  // namespace penstock::tools
