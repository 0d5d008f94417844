#include <gtest/gtest.h>

#include "tests/support/system/process.h"

namespace penstock::tools {
namespace {

/// Commands that take a seed, without one.
std::vector<std::vector<std::string>> seeded() {
  return {{"schedule", "found", "--stages", "2", "--micro-batches", "3"},
          {"search", "recipe.toml", "--cluster", "laptop"},
          {"plan", "recipe.toml", "--cluster", "laptop"},
          {"plan", "--profile", "chain.json", "--stages", "2"}};
}

test::Outcome with_seed(std::vector<std::string> words, const std::string& seed) {
  words.insert(words.begin(), PENSTOCK_BINARY);
  words.insert(words.end(), {"--seed", seed});
  return test::run_program(words);
}

TEST(Options, ASeedIsAWholeNumberOf64Bits) {
  for (const auto& words : seeded()) {
    for (const char* seed :
         {"-1", "99999999999999999999", "18446744073709551616", "1.5", "x", "010"}) {
      const auto outcome = with_seed(words, seed);
      EXPECT_EQ(outcome.code, 2) << words[0] << seed;
      EXPECT_EQ(outcome.out, "") << words[0] << seed;
      const std::string said =
          std::string("takes a whole number from 0 to 18446744073709551615, not ") + seed;
      EXPECT_NE(outcome.err.find("--seed: " + said), std::string::npos) << outcome.err;
    }
  }
  for (const char* seed : {"0", "18446744073709551615"})
    EXPECT_EQ(with_seed(seeded()[0], seed).code, 0) << seed;
}

TEST(Options, WholeNumbersHaveNoZerosInFront) {
  const auto stages = [](const char* text) {
    return test::run_program(
        {PENSTOCK_BINARY, "schedule", "1f1b", "--micro-batches", "3", "--stages", text});
  };
  const auto octal = stages("010");
  EXPECT_EQ(octal.code, 2);
  EXPECT_NE(octal.err.find("--stages: takes a whole number from"), std::string::npos) << octal.err;
  EXPECT_EQ(stages("10").code, 0);
}

}  // namespace
}  // namespace penstock::tools
