#include "tools/cli/recipe.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "configs/flatten.h"
#include "configs/include.h"
#include "configs/load.h"
#include "configs/named_keys.h"
#include "configs/write.h"
#include "layers/models/families.h"
#include "tools/cli/launch.h"

namespace penstock::tools {
namespace {

bool overrides_a_key(const std::string& word) { return word.find('=') != std::string::npos; }

}  // namespace

// Words may come in any order. Notes on renamed keys come from rank 0 alone, as every rank loads.
configs::Config RecipeArguments::load() const {
  std::string file;
  std::vector<std::string> overrides;
  for (const std::string& word : words) {
    if (overrides_a_key(word))
      overrides.push_back(word);
    else if (file.empty())
      file = word;
    else
      throw ConfigError(fmt::format(
          "two recipes were given, {} and {}: give one, and overrides as key=value", file, word));
  }
  if (launched_rank() == 0)
    for (const std::string& note : configs::renaming_notes(file, overrides))
      std::cerr << "penstock: " << note << '\n';
  return configs::load_config(file, layers::model_families(), overrides);
}

// An empty path names no file, so keys without a value may be in the list.
std::vector<NamedFile> RecipeArguments::files(const configs::Config& config,
                                              std::vector<NamedFile> others) const {
  others.insert(others.end(),
                {{"model.base", config.model.base}, {"text.model", config.text.model}});
  for (const WeightedManifest& item : config.data.validation)
    others.push_back({"data.validation", item.manifest});
  for (const WeightedManifest& item : config.data.train)
    others.push_back({"data.train", item.manifest});
  for (const std::string& word : words) {
    if (overrides_a_key(word)) continue;
    others.push_back({"the recipe", word});
    for (const std::filesystem::path& included : configs::included_recipes(word))
      others.push_back({"include", included.string()});
  }
  return others;
}

void add_recipe(CLI::App* command, RecipeArguments& arguments) {
  command
      ->add_option("recipe", arguments.words,
                   "A TOML file, then key=value overrides (penstock --keys lists the keys)")
      ->type_name("FILE|KEY=VALUE")
      ->required();
}

std::string saved_recipe_text(const runtime::Checkpoint& checkpoint,
                              const std::filesystem::path& path) {
  // A checkpoint records all keys of its training. A recipe that starts from its weights needs only
  // those that say what the weights mean; optimizer, data and layout are the new run's own.
  std::vector<std::string_view> shown = {"model", "text", "features", "trainer.init"};
  configs::Config config =
      configs::unflatten(checkpoint.state().config, path.string(), layers::model_families());
  // The training's file of pieces may be gone, but the checkpoint keeps a copy.
  const std::filesystem::path pieces = checkpoint.tokenizer_file();
  if (!pieces.empty() && !checkpoint.place().url.empty())
    throw ConfigError(fmt::format(
        "a recipe names its file of pieces, text.model, on this machine, but {} keeps its own on a "
        "server. Copy the checkpoint first:\n  penstock export {} --weights -o FOLDER\n  penstock "
        "info FOLDER --recipe",
        path.string(), path.string()));
  if (!pieces.empty()) config.text.model = pieces.string();
  config.trainer.init = path.string();
  if (config.model.decoder != "ctc") shown.insert(shown.begin() + 1, "decoder");
  if (config.model.lora.rank > 0) shown.insert(shown.begin() + 1, "lora");
  return configs::recipe_text(config, shown);
}

}  // namespace penstock::tools
