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

  /// The file: the first word that is no override; empty where there is none. ConfigError for a
  /// second one.
  std::string file() const;
  /// ConfigError as file and load_config.
  Config load() const;
};

void add_recipe(CLI::App* command, RecipeArguments& arguments);

}  // namespace penstock
