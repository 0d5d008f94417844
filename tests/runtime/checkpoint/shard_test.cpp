#include "runtime/checkpoint/shard.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/checkpoint/hash.h"
#include "runtime/checkpoint/safetensors/safetensors.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

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

}  // namespace
}  // namespace penstock::runtime
