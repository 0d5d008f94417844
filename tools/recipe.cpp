#include "tools/recipe.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>

#include "configs/load.h"

namespace penstock {

namespace {

bool overrides_a_key(const std::string& word) { return word.find('=') != std::string::npos; }

}  // namespace

std::string RecipeArguments::file() const {
  std::string file;
  for (const std::string& word : words) {
    if (overrides_a_key(word)) continue;
    if (!file.empty())
      throw ConfigError("two recipes were given, " + file + " and " + word +
                        ": give one, and overrides as key=value");
    file = word;
  }
  return file;
}

Config RecipeArguments::load() const {
  std::vector<std::string> overrides;
  std::ranges::copy_if(words, std::back_inserter(overrides), overrides_a_key);
  return load_config(file(), overrides);
}

void add_recipe(CLI::App* command, RecipeArguments& arguments) {
  command
      ->add_option("recipe", arguments.words,
                   "A TOML file, then key=value overrides of any key (penstock --keys)")
      ->required();
}

}  // namespace penstock
