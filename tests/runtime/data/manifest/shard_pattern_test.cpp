#include "runtime/data/manifest/shard_pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "tests/support/runtime/manifest_folder.h"

namespace penstock::runtime {
namespace {

using Shards = std::vector<std::string>;

/// The expected paths are what bash 5.2 makes of these patterns.
TEST(ShardPattern, IsExpandedAsByBash) {
  EXPECT_EQ(expand_shards("m_{0..2}.json"), (Shards{"m_0.json", "m_1.json", "m_2.json"}));
  EXPECT_EQ(expand_shards("{08..10}"), (Shards{"08", "09", "10"}));
  EXPECT_EQ(expand_shards("{8..010}"), (Shards{"008", "009", "010"}));
  EXPECT_EQ(expand_shards("{3..1}"), (Shards{"3", "2", "1"}));
  EXPECT_EQ(expand_shards("{0..7..3}"), (Shards{"0", "3", "6"}));
  EXPECT_EQ(expand_shards("{5..5}"), (Shards{"5"}));
  EXPECT_EQ(expand_shards("{a,b}/{0..1}.tar"),
            (Shards{"a/0.tar", "a/1.tar", "b/0.tar", "b/1.tar"}));
  EXPECT_EQ(expand_shards("x{1,2{a,b},}"), (Shards{"x1", "x2a", "x2b", "x"}));
}

TEST(ShardPattern, StepsMayBeAsLargeAsNumbers) {
  EXPECT_EQ(expand_shards("{1..9000000000000000000..5000000000000000000}"),
            (Shards{"1", "5000000000000000001"}));
  EXPECT_EQ(expand_shards("{0..9223372036854775807..9223372036854775807}"),
            (Shards{"0", "9223372036854775807"}));
  EXPECT_EQ(expand_shards("{9223372036854775807..0..9223372036854775807}"),
            (Shards{"9223372036854775807", "0"}));
}

TEST(ShardPattern, HasTheBracketsOfNemo) {
  const Shards three{"m__0_.json", "m__1_.json", "m__2_.json"};
  for (const char* pattern : {"m___OP_0..2_CL__.json", "m__(0..2)_.json", "m__[0..2]_.json",
                              "m__<0..2>_.json", "m__{0..2}_.json"})
    EXPECT_EQ(expand_shards(pattern), three) << pattern;
  EXPECT_EQ(expand_shards("manifest__OP_0..1_CL_.json"),
            (Shards{"manifest_0.json", "manifest_1.json"}));
}

TEST(ShardPattern, LeavesOtherBracketsAlone) {
  for (const char* path :
       {"data (1)/train.json", "a{b}.json", "{0..}", "{..1}", "{a..c}", "{0..1", "0..1}", "{0...1}",
        "{-1..1}", "{0..4..0}", "a,b.json", "", "_OP_0_CL_", "{99999999999999999999..3}"}) {
    EXPECT_FALSE(is_shard_pattern(path)) << path;
    EXPECT_EQ(expand_shards(path), (Shards{path}));
  }
  EXPECT_EQ(expand_shards("{a}{0..1}"), (Shards{"{a}0", "{a}1"}));
}

TEST(ShardPattern, StandsForABoundedNumber) {
  EXPECT_EQ(expand_shards("{1..100000}").size(), 100000u);
  for (const char* pattern : {"{0..100000}", "{0..999}{0..999}", "{0..9223372036854775807}"})
    EXPECT_NE(test::message_of<DataError>([&] {
                (void)expand_shards(pattern);
              }).find("stands for more than 100000 files: name fewer at a time"),
              std::string::npos)
        << pattern;
  for (const std::string pattern : {"a{0..1}_{0..100000}.tar", "a{0..999}_{0..999}.tar"})
    EXPECT_EQ(test::message_of<DataError>([&] { (void)expand_shards(pattern); }),
              "manifest " + pattern + ": stands for more than 100000 files: name fewer at a time");
}

}  // namespace
}  // namespace penstock::runtime
