#include "base/glob.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace penstock
