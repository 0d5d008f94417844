#include "runtime/supervisor/pool_layout.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class PoolLayoutsOf : public ::testing::Test {
 protected:
  PoolLayoutsOf() {
    test::write_tone_corpus(folder_.path() / "train.jsonl", 20, 1);
    test::write_file(
        folder_.path() / "recipe.toml",
        test::tone_recipe(folder_.path() / "train.jsonl", "", folder_.path() / "output"));
  }
  configs::Config recipe(const std::vector<std::string>& overrides) const {
    return configs::load_config(folder_.path() / "recipe.toml", layers::model_families(),
                                overrides);
  }
  test::TemporaryFolder folder_;
};

TEST_F(PoolLayoutsOf, KeepsTheRecipesLayoutIfItFits) {
  PoolLayouts layouts(recipe({"pipeline.stages=2", "pipeline.replicas=2"}));
  EXPECT_EQ(layouts.choose(4), (PoolLayout{2, 2}));
  EXPECT_EQ(layouts.choose(100), (PoolLayout{2, 2}));
}

TEST_F(PoolLayoutsOf, FillsFewerRanks) {
  PoolLayouts layouts(recipe({"pipeline.replicas=4", "trainer.lanes=4"}));
  for (int ranks = 1; ranks <= 3; ++ranks) {
    const PoolLayout layout = layouts.choose(ranks);
    EXPECT_LE(layout.ranks(), ranks);
    EXPECT_GT(layout.step_s, 0);
  }
  // More ranks are never predicted to be slower.
  EXPECT_LE(layouts.choose(3).step_s, layouts.choose(2).step_s);
  EXPECT_LE(layouts.choose(2).step_s, layouts.choose(1).step_s);
}

TEST_F(PoolLayoutsOf, HasNoMoreReplicasThanLanes) {
  PoolLayouts layouts(recipe({"pipeline.stages=3", "pipeline.replicas=2", "trainer.lanes=2"}));
  EXPECT_LE(layouts.choose(5).replicas, 2);
}

TEST_F(PoolLayoutsOf, KeepsSharesOfTheStepWithScaling) {
  PoolLayouts layouts(recipe({"pipeline.replicas=4", "trainer.lanes=8", "data.micro_batches=8",
                              "trainer.scaling=linear"}));
  EXPECT_EQ(layouts.choose(4), (PoolLayout{1, 4}));
  for (int ranks = 1; ranks <= 3; ++ranks) {
    const PoolLayout layout = layouts.choose(ranks);
    EXPECT_EQ(layout.micro_batches, 2 * layout.replicas) << ranks;
    EXPECT_EQ(layout.lanes, 2 * layout.replicas) << ranks;
  }
}

TEST_F(PoolLayoutsOf, ScalingNeedsWholeShares) {
  PoolLayouts layouts(recipe(
      {"pipeline.replicas=4", "trainer.lanes=4", "data.micro_batches=6", "trainer.scaling=sqrt"}));
  EXPECT_NE(test::message_of<ConfigError>([&] {
              (void)layouts.choose(4);
            }).find("data.micro_batches = 6 does not divide by pipeline.replicas = 4"),
            std::string::npos);
}

TEST_F(PoolLayoutsOf, RespectsTheMemoryOfARank) {
  PoolLayouts layouts(recipe({"pipeline.stages=4", "pipeline.memory_gib=0.0001"}));
  try {
    (void)layouts.choose(2);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()).find("the run does not fit on 2 ranks: "), 0)
        << error.what();
  }
}

}  // namespace
}  // namespace penstock::runtime
