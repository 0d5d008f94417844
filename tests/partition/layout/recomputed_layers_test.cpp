#include "partition/layout/recomputed_layers.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::partition {
namespace {

const std::vector<std::string> kNames = {"conv1", "norm1", "relu1", "output"};

configs::PipelineConfig asked(const std::string& recompute, std::vector<std::string> layers = {}) {
  configs::PipelineConfig pipeline;
  pipeline.recompute = recompute;
  pipeline.recompute_layers = std::move(layers);
  return pipeline;
}

TEST(RecomputedLayers, AreNoneAllOrThoseNamed) {
  EXPECT_TRUE(recomputed_layers(asked("none"), kNames).empty());
  EXPECT_TRUE(recomputed_layers(asked("selective"), kNames).empty());
  EXPECT_EQ(recomputed_layers(asked("stage"), kNames), ChosenLayers(4, true));
  EXPECT_EQ(recomputed_layers(asked("layers", {"relu1", "conv1"}), kNames),
            (ChosenLayers{true, false, true, false}));
}

TEST(RecomputedLayers, AreSetAsTheyAreRead) {
  for (const bool within : {false, true})
    for (const ChosenLayers& chosen :
         {ChosenLayers{false, true, false, true}, ChosenLayers(4, true), ChosenLayers(4, false),
          ChosenLayers{}}) {
      configs::PipelineConfig pipeline = asked("layers", {"norm1"});
      set_recomputation(pipeline, {within, chosen}, kNames);
      ChosenLayers read = recomputed_layers(pipeline, kNames);
      read.resize(4);
      ChosenLayers wanted = chosen;
      wanted.resize(4);
      EXPECT_EQ(read, wanted);
      EXPECT_EQ(pipeline.recompute == kSelective, within);
      if (pipeline.recompute == "none" || pipeline.recompute == "stage") {
        EXPECT_TRUE(pipeline.recompute_layers.empty());
      }
    }
}

TEST(RecomputedLayers, MayBeWholeOnesBesidesSelective) {
  EXPECT_EQ(recomputed_layers(asked("selective", {"norm1"}), kNames),
            (ChosenLayers{false, true, false, false}));
}

TEST(RecomputedLayers, EveryFaultOfAListIsNamed) {
  const auto said = test::message_of<ConfigError>([] {
    recomputed_layers(asked("layers", {"norm", "relu1", "relu1"}), kNames);
  });
  EXPECT_NE(said.find("pipeline.recompute_layers names norm, which is no layer of the model: did "
                      "you mean norm1?"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("names relu1 twice: leave one out"), std::string::npos) << said;
  EXPECT_NE(test::message_of<ConfigError>([] {
              recomputed_layers(asked("layers", {"zzzzzz"}), kNames);
            }).find("its layers are conv1, norm1, relu1, output"),
            std::string::npos);
}

}  // namespace
}  // namespace penstock::partition
