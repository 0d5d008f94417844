#include "base/nearest_name.h"

#include <gtest/gtest.h>

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

TEST(Nearest, GuessesNothingWild) {
  EXPECT_EQ(nearest("weather.sunny", names), "");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest("trainer.steps", {}), "");
}

}  // namespace
}  // namespace penstock
