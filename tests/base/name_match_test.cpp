#include "base/name_match.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock {
namespace {

TEST(Glob, NamesWithoutSignsStandForThemselves) {
  EXPECT_TRUE(matches_glob("output.bias", "output.bias"));
  EXPECT_FALSE(matches_glob("output", "output.bias"));
  EXPECT_FALSE(matches_glob("output.bias", "output"));
  EXPECT_TRUE(matches_glob("", ""));
  EXPECT_FALSE(matches_glob("", "a"));
}

TEST(Glob, StarsTakeAnyNumberOfCharacters) {
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("block1.*", "block1.attention.query.weight"));
  EXPECT_FALSE(matches_glob("block1.*", "block12.norm.scale"));
  EXPECT_TRUE(matches_glob("*.bias", "block1.bias.bias"));
  EXPECT_TRUE(matches_glob("a*b*c", "aXbYbZc"));
  EXPECT_FALSE(matches_glob("a*b*c", "aXcYc"));
  EXPECT_TRUE(matches_glob("a**", "a"));
}

TEST(Glob, QuestionMarksTakeOneCharacter) {
  EXPECT_TRUE(matches_glob("block?.norm", "block7.norm"));
  EXPECT_FALSE(matches_glob("block?.norm", "block17.norm"));
  EXPECT_FALSE(matches_glob("block?", "block"));
  EXPECT_TRUE(matches_glob("*?", "a"));
  EXPECT_FALSE(matches_glob("*?", ""));
}

constexpr std::string_view names[] = {"data.train", "trainer.steps", "trainer.seed", "model.rnn"};

TEST(Nearest, ForgivesSlips) {
  EXPECT_EQ(nearest("trainer.step", names), "trainer.steps");    // a letter is missing
  EXPECT_EQ(nearest("tariner.steps", names), "trainer.steps");   // neighbours swapped
  EXPECT_EQ(nearest("trainerr.stebs", names), "trainer.steps");  // one too many, one wrong
  EXPECT_EQ(nearest("steps", names), "trainer.steps");           // no section
  EXPECT_EQ(nearest("pipeline.seed", names), "trainer.seed");    // another section
}

TEST(Selects, TakesNamesOutInAnyOrder) {
  const std::vector<std::string> patterns = {"!*.bias", "conv*", "output.*"};
  EXPECT_TRUE(selects(patterns, "conv1.weight"));
  EXPECT_FALSE(selects(patterns, "conv1.bias"));
  EXPECT_FALSE(selects(patterns, "rnn1.weight"));
  EXPECT_FALSE(selects({"!*.bias"}, "conv1.weight"));
  EXPECT_FALSE(selects({}, "conv1.weight"));
}

TEST(Nearest, TakesTheBeginningOfAName) {
  constexpr std::string_view keys[] = {"memory_gib", "memory_kind", "speed_limit"};
  EXPECT_EQ(nearest("memory", keys), "memory_gib");
  EXPECT_EQ(nearest("memory_kinds", keys), "memory_kind");  // letters come first
  EXPECT_EQ(nearest("memo", keys), "");
}

TEST(Nearest, EndsAMessage) {
  EXPECT_EQ(did_you_mean("trainer.step", names), "; did you mean trainer.steps?");
  EXPECT_EQ(did_you_mean("zbh1", std::vector<std::string>{"1f1b", "zb-h1"}),
            "; did you mean zb-h1?");
  EXPECT_EQ(did_you_mean("weather", names), "");
}

TEST(Nearest, GuessesNothingWild) {
  EXPECT_EQ(nearest("weather.sunny", names), "");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest("trainer.steps", {}), "");
}

}  // namespace
}  // namespace penstock
