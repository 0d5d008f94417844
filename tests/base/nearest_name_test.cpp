#include "base/nearest_name.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock {
namespace {

constexpr std::string_view names[] = {"data.train", "trainer.steps", "trainer.seed", "model.rnn"};

TEST(Nearest, ForgivesSlips) {
  EXPECT_EQ(nearest("trainer.step", names), "trainer.steps");    // a letter is missing
  EXPECT_EQ(nearest("tariner.steps", names), "trainer.steps");   // neighbours swapped
  EXPECT_EQ(nearest("trainerr.stebs", names), "trainer.steps");  // one too many, one wrong
  EXPECT_EQ(nearest("steps", names), "trainer.steps");           // no section
  EXPECT_EQ(nearest("pipeline.seed", names), "trainer.seed");    // another section
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
