#pragma once

#include <string>
#include <vector>

#include "configs/config.h"

namespace CLI {
class App;
}

namespace penstock {

/// A recipe on the command line: a TOML file and key=value overrides.
struct RecipeArguments {
  std::vector<std::string> words;

  /// The first word that is no override names the file. ConfigError as load_config, and for a
  /// second file.
  Config load() const;
};

void add_recipe(CLI::App* command, RecipeArguments& arguments);

}  // namespace penstock
