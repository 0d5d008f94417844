#include "runtime/planning/recipe_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "configs/load.h"
#include "layers/models/families.h"
#include "partition/model/build_model.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class RecipeDataTest : public testing::Test {
 protected:
  RecipeDataTest() { test::write_tone_corpus(manifest_, 13, 1); }

  WorkExtent bound(const std::string& micro_batches) {
    const configs::Config config = configs::parse_config(
        test::tone_recipe(manifest_, "", folder_.path() / "output"), "recipe.toml",
        layers::model_families(),
        std::vector<std::string>{"data.micro_batches=" + micro_batches, "trainer.steps=5"});
    const partition::LayerSequence sequence =
        partition::build_model(config.model, 6, config.pipeline);
    RecipeData data(config, sequence);
    most_ = 0;
    for (int step = 0; step < 5; ++step)
      most_ = std::max(most_, std::ssize(data.steps(config).at(step).micro_batches));
    return data.bounds(config).training;
  }

  test::TemporaryFolder folder_;
  std::filesystem::path manifest_ = folder_.path() / "train.jsonl";
  std::ptrdiff_t most_ = 0;  // micro-batches of one of the first five steps
};

TEST_F(RecipeDataTest, BoundsAStepByTheRecipe) { EXPECT_EQ(bound("2").micro_batches, 2); }

// Interleaved schedules may hold more activations for fewer micro-batches, so that a step that the
// data never fill would be planned with too little memory.
TEST_F(RecipeDataTest, BoundsTheOneStepOfFewData) {
  const int bounded = bound("99").micro_batches;
  EXPECT_LT(bounded, 99);
  EXPECT_EQ(bounded, most_);
}

}  // namespace
}  // namespace penstock::runtime
