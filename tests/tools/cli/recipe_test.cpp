#include "tools/cli/recipe.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "configs/flatten.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/huggingface/import.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::tools {
namespace {

// Settings of both, an alphabet with marks for tokens of several letters, and pieces.
TEST(SavedRecipe, SaysWhatTheCheckpointIs) {
  for (const char* golden : {"wav2vec2_for_ctc", "parakeet_for_ctc", "parakeet_for_tdt",
                             "imported_transcripts/parakeet"}) {
    const test::TemporaryFolder folder;
    const std::string checkpoint = (folder.path() / "imported").string();
    runtime::import_model(test::source("tests/golden/" + std::string(golden)), checkpoint);
    const auto recipe = folder.path() / "tuned.toml";
    test::write_file(recipe, saved_recipe_text(runtime::Checkpoint(checkpoint), checkpoint));
    const configs::Config config = configs::load_config(recipe, layers::model_families());
    EXPECT_EQ(config.trainer.init, checkpoint);
    configs::FlatConfig saved = runtime::Checkpoint(checkpoint).state().config;
    for (const auto& [key, value] : configs::flatten(config)) {
      const bool told = key.starts_with("model.") || key.starts_with("decoder.") ||
                        key.starts_with("text.") || key.starts_with("features.");
      if (told && key != "model.base" && key != "text.model") {
        EXPECT_EQ(value, saved[key]) << key;
      }
    }
  }
}

// A copy in the cache may go, so no recipe may name its file.
TEST(SavedRecipe, NeedsPiecesOnThisMachine) {
  const test::TemporaryFolder folder;
  const std::string checkpoint = (folder.path() / "imported").string();
  runtime::import_model(test::source("tests/golden/imported_transcripts/parakeet"), checkpoint);
  const runtime::Checkpoint copy(runtime::CheckpointPlace{checkpoint, "s3://bucket/run"});
  ASSERT_FALSE(copy.tokenizer_file().empty());
  const std::string message =
      test::message_of<ConfigError>([&] { (void)saved_recipe_text(copy, "s3://bucket/run"); });
  EXPECT_NE(message.find("penstock export s3://bucket/run --weights -o FOLDER"), std::string::npos)
      << message;
}

// A command must not write over a recipe that it was made from.
TEST(RecipeArguments, NameIncludedFilesToo) {
  const test::TemporaryFolder folder;
  const std::string recipe = folder.path() / "recipe.toml", base = folder.path() / "base.toml";
  test::write_file(recipe, "include = 'base.toml'\n");
  test::write_file(base, "[trainer]\nsteps = 3\n");
  const RecipeArguments arguments{{recipe, "trainer.keep=2"}};
  const configs::Config config = arguments.load();
  EXPECT_EQ(config.trainer.steps, 3);
  EXPECT_TRUE(std::ranges::any_of(arguments.files(config),
                                  [&](const NamedFile& file) { return file.path == base; }));
}

}  // namespace
}  // namespace penstock::tools
