#include "tools/recipe.h"

#include <CLI/CLI.hpp>

#include "configs/load.h"

namespace penstock {

Config RecipeArguments::load() const {
  std::string file;
  std::vector<std::string> overrides;
  for (const std::string& word : words) {
    if (word.find('=') != std::string::npos)
      overrides.push_back(word);
    else if (file.empty())
      file = word;
    else
      throw ConfigError("two recipes were given, " + file + " and " + word +
                        ": give one, and overrides as key=value");
  }
  return load_config(file, overrides);
}

void add_recipe(CLI::App* command, RecipeArguments& arguments) {
  command
      ->add_option("recipe", arguments.words,
                   "A TOML file, then key=value overrides of any key (penstock --keys)")
      ->required();
}

}  // namespace penstock
