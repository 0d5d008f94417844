#include "runtime/checkpoint/coverage.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

struct Block {
  int shard;
  std::int64_t begin, end;
  layers::Shape shape = {3, 5};
  layers::DType dtype = layers::DType::f32;
};

// The complaint about a tensor "w" that is held in these blocks.
std::string gap(const std::vector<Block>& blocks) {
  std::vector<ShardIndex> shards(3);
  for (std::size_t i = 0; i < shards.size(); ++i)
    shards[i].file = fmt::format("stage-{}.safetensors", i);
  for (const Block& block : blocks)
    shards[static_cast<std::size_t>(block.shard)].pieces.push_back(
        {"w", block.dtype, block.shape, block.begin, block.end, 0, 0, ""});
  return test::message_of<CheckpointError>([&] { check_coverage(shards); });
}

TEST(Coverage, TakesAnyExactCover) {
  EXPECT_EQ(gap({}), "");
  EXPECT_EQ(gap({{0, 0, 15}}), "");
  EXPECT_EQ(gap({{2, 0, 4}, {0, 4, 5}, {1, 5, 15}}), "");
  EXPECT_EQ(gap({{1, 0, 0, {0, 2}}}), "");
  EXPECT_EQ(gap({{1, 0, 1, {}}}), "");
}

TEST(Coverage, NamesHoles) {
  EXPECT_NE(gap({{0, 1, 15}}).find("'w' lacks elements [0, 1)"), std::string::npos);
  EXPECT_NE(gap({{0, 0, 4}, {1, 6, 15}}).find("[4, 6)"), std::string::npos);
  EXPECT_NE(gap({{0, 0, 14}}).find("[14, 15)"), std::string::npos);
}

TEST(Coverage, NamesBothHoldersOfAnOverlap) {
  const std::string message = gap({{0, 0, 9}, {2, 8, 15}});
  EXPECT_NE(message.find("stage-0"), std::string::npos) << message;
  EXPECT_NE(message.find("stage-2"), std::string::npos) << message;
  EXPECT_NE(gap({{0, 0, 15}, {1, 0, 15}}), "");
  EXPECT_NE(gap({{0, 0, 0, {0}}, {1, 0, 0, {0}}}), "");
}

TEST(Coverage, RejectsImpossibleBlocks) {
  EXPECT_NE(gap({{0, 0, 16}}), "");
  EXPECT_NE(gap({{0, 0, 5}, {1, 5, 5}, {2, 5, 15}}), "");
  EXPECT_NE(gap({{0, 0, 20}, {1, 20, 15}}), "");
}

TEST(Coverage, RejectsShardsThatDisagree) {
  EXPECT_NE(gap({{0, 0, 9}, {1, 9, 15, {15}}}).find("shape"), std::string::npos);
  EXPECT_NE(gap({{0, 0, 9}, {1, 9, 15, {3, 5}, layers::DType::f64}}).find("dtype"),
            std::string::npos);
}

TEST(Coverage, RejectsTwoShardsOfOneName) {
  EXPECT_THROW(check_coverage({{"a", 0, "", {}}, {"a", 0, "", {}}}), CheckpointError);
}

}  // namespace
}  // namespace penstock::runtime
