#include "runtime/planning/recipe_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "configs/load.h"
#include "layers/models/families.h"
#include "partition/layout/build_model.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class RecipeDataTest : public testing::Test {
 protected:
  RecipeDataTest() { test::write_tone_corpus(manifest_, 13, 1); }

  configs::Config recipe(const std::string& micro_batches) const {
    return configs::parse_config(
        test::tone_recipe(manifest_, "", folder_.path() / "output"), "recipe.toml",
        layers::model_families(),
        std::vector<std::string>{"data.micro_batches=" + micro_batches, "trainer.steps=5"});
  }
  static partition::LayerSequence model(const configs::Config& config) {
    return partition::build_model(config.model, 6, config.pipeline);
  }

  test::TemporaryFolder folder_;
  std::filesystem::path manifest_ = folder_.path() / "train.jsonl";
};

TEST_F(RecipeDataTest, BoundsAStepByTheRecipe) {
  const configs::Config config = recipe("2");
  const partition::LayerSequence sequence = model(config);
  EXPECT_EQ(RecipeData(config, sequence).bounds(config).training.micro_batches, 2);
}

// Interleaved schedules may hold more activations for fewer micro-batches, so that a step that the
// data never fill would be planned with too little memory.
TEST_F(RecipeDataTest, BoundsTheOneStepOfFewData) {
  const configs::Config config = recipe("99");
  const partition::LayerSequence sequence = model(config);
  RecipeData data(config, sequence);
  std::ptrdiff_t max = 0;
  for (int step = 0; step < config.trainer.steps; ++step)
    max = std::max(max, std::ssize(data.steps(config).at(step).micro_batches));
  EXPECT_LT(max, 99);
  EXPECT_EQ(data.bounds(config).training.micro_batches, max);
}

}  // namespace
}  // namespace penstock::runtime
