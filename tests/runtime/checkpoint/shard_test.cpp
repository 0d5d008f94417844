#include "runtime/checkpoint/shard.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "base/file_handle.h"
#include "runtime/checkpoint/hash.h"
#include "runtime/checkpoint/safetensors/safetensors.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

TEST(Shard, IndexDescribesTheFile) {
  const TemporaryFolder folder;
  const auto tensors = test::example_tensors(3);
  const auto pieces = test::example_pieces(tensors, 1, 3);
  const ShardIndex index = write_shard(folder.path(), "stage-1", pieces);
  const SafetensorsFile file(folder.path() / index.file);
  EXPECT_EQ(index.file, "stage-1.safetensors");
  EXPECT_EQ(index.bytes, file.file_bytes());
  EXPECT_EQ(index.header_hash, xxh3_128(file.header_bytes()));
  ASSERT_EQ(index.pieces.size(), pieces.size());
  for (const ShardPiece& piece : index.pieces)
    EXPECT_EQ(piece.hash, xxh3_128(file.bytes(piece.file_begin, piece.file_end))) << piece.name;
  EXPECT_EQ(parse_shard_index(to_text(index)), index);
}

TEST(Shard, KeepsWholeTensorsAndFlattensParts) {
  const TemporaryFolder folder;
  const float numbers[6] = {};
  const CheckpointPiece pieces[] = {{"whole", layers::DType::f32, {2, 3}, 0, 6, numbers},
                                    {"part", layers::DType::f32, {2, 3}, 2, 6, numbers + 2}};
  const SafetensorsFile file(folder.path() / write_shard(folder.path(), "s", pieces).file);
  EXPECT_EQ(file.tensor("whole").shape, (layers::Shape{2, 3}));
  EXPECT_EQ(file.tensor("part[2:6]").shape, (layers::Shape{4}));
}

TEST(Shard, RejectsBlocksOutsideTheTensor) {
  const TemporaryFolder folder;
  const float numbers[6] = {};
  for (const auto& [begin, end] : {std::pair{-1, 6}, {0, 7}, {4, 3}}) {
    const CheckpointPiece piece{"w", layers::DType::f32, {2, 3}, begin, end, numbers};
    EXPECT_THROW((void)write_shard(folder.path(), "s", {&piece, 1}), CheckpointError);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Shard, RejectsTextThatIsNoIndex) {
  EXPECT_THROW((void)parse_shard_index(""), CheckpointError);
  EXPECT_THROW((void)parse_shard_index("[]"), CheckpointError);
  EXPECT_THROW((void)parse_shard_index(R"({"file":"x"})"), CheckpointError);
}

class ReadBack : public testing::Test {
 protected:
  ReadBack()
      : shard_(write_shard(folder_.path(), "stage-0", test::example_pieces(tensors_, 0, 1))) {}
  fs::path file() const { return folder_.path() / shard_.file; }
  void flip(std::size_t byte) const {
    std::string bytes = test::read_file(file());
    bytes.at(byte) ^= 8;
    test::write_file(file(), bytes);
  }
  std::string complaint() const {
    return test::message_of<CheckpointError>([this] { read_back(folder_.path(), shard_); });
  }

  const TemporaryFolder folder_;
  const std::vector<test::ExampleTensor> tensors_ = test::example_tensors(3);
  const ShardIndex shard_;
};

TEST_F(ReadBack, TakesWhatWasWritten) { EXPECT_NO_THROW(read_back(folder_.path(), shard_)); }

TEST_F(ReadBack, NamesTheTensorOfAFlippedBit) {
  for (const ShardPiece& piece : shard_.pieces) {
    if (piece.file_begin == piece.file_end) continue;
    flip(piece.file_end - 1);
    EXPECT_NE(complaint().find("'" + piece.name + "'"), std::string::npos) << complaint();
    flip(piece.file_end - 1);
  }
}

TEST_F(ReadBack, RejectsAnotherHeaderOrSize) {
  flip(20);
  EXPECT_NE(complaint().find(file().string()), std::string::npos) << complaint();
  flip(20);
  fs::resize_file(file(), fs::file_size(file()) - 1);
  EXPECT_NE(complaint().find(file().string()), std::string::npos) << complaint();
  fs::remove(file());
  EXPECT_THROW(read_back(folder_.path(), shard_), FileError);
}

// A file that ends early, as on a full disk, is a fault of the save and does not end the run.
TEST_F(ReadBack, SaysWhereAFileEndsMeanwhile) {
  const std::string told = test::message_of<CheckpointError>(
      [this] { read_back(folder_.path(), shard_, [this] { fs::resize_file(file(), 100); }); });
  EXPECT_NE(told.find(file().string() + ": read back, it ends at byte "), std::string::npos)
      << told;
}

TEST_F(ReadBack, EndsWhereItIsToldTo) {
  EXPECT_THROW(read_back(folder_.path(), shard_, [] { throw std::runtime_error("the run ends"); }),
               std::runtime_error);
}

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
