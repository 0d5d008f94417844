#include "runtime/huggingface/name_patterns.h"

#include <gtest/gtest.h>

namespace penstock::runtime {
namespace {

using Names = std::vector<std::string>;

const Names kLayers = {"block1.attention.output",
                       "block1.attention.qkv",
                       "block1.ff.linear1",
                       "block10.attention.output",
                       "block10.attention.qkv",
                       "block10.ff.linear1",
                       "output",
                       "projection.linear"};

TEST(NamePatterns, JoinTheBlocksThatAreChosen) {
  EXPECT_EQ(name_patterns({"block1.attention.qkv", "block10.attention.qkv"}, kLayers),
            Names{"block*.attention.qkv"});
  EXPECT_EQ(name_patterns({"block1.attention.qkv", "block1.attention.output",
                           "block10.attention.qkv", "block10.attention.output", "output"},
                          kLayers),
            (Names{"block*.attention.*", "output"}));
}

TEST(NamePatterns, MatchNothingThatIsNotChosen) {
  EXPECT_EQ(name_patterns({"block10.attention.qkv", "block10.attention.output"}, kLayers),
            Names{"block10.attention.*"});
  EXPECT_EQ(name_patterns({"block1.attention.qkv"}, kLayers), Names{"block1.attention.qkv"});
  EXPECT_EQ(name_patterns({}, kLayers), Names{});
}

// A star also stands for dots: "block*.norm.*" would match the norms within units.
TEST(NamePatterns, KnowThatStarsCrossDots) {
  const Names all = {"block1.attention.norm.bias", "block1.attention.norm.weight",
                     "block1.norm.bias", "block1.norm.weight"};
  EXPECT_EQ(name_patterns({"block1.norm.bias", "block1.norm.weight"}, all), Names{"block1.norm.*"});
}

}  // namespace
}  // namespace penstock::runtime
