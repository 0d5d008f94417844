#include "runtime/checkpoint/passthrough_parts.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/checkpoint/save.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

PassthroughParts some_parts() {
  const std::string name = std::string(kKeptTensors) + "embed";
  return {.files = {{"huggingface/config.json", "{}"}, {"huggingface/vocab.json", "{\"é\": 1}"}},
          .tensors = {{name, layers::DType::f32, {3}, std::vector<std::byte>(12, std::byte{7})},
                      {name + ".count", layers::DType::i64, {}, std::vector<std::byte>(8)}}};
}

std::filesystem::path save(const std::filesystem::path& output, const PassthroughParts& kept,
                           std::int64_t step) {
  const float weight = 1.5F;
  TrainingState state;
  state.step = step;
  const auto folder = start_save(output, step);
  const auto shard =
      write_shard(folder, "stage-0",
                  std::vector<CheckpointPiece>{{"w", layers::DType::f32, {1}, 0, 1, &weight}});
  return commit(folder, state, {shard}, "", kept);
}

TEST(PassthroughParts, GoFromCheckpointToCheckpoint) {
  const test::TemporaryFolder output;
  const PassthroughParts kept = some_parts();
  std::filesystem::path saved;
  for (std::int64_t step : {1, 2}) {
    saved = save(output.path(), step == 1 ? kept : read_kept(Checkpoint(saved)), step);
    const Checkpoint checkpoint(saved);
    checkpoint.verify();
    EXPECT_EQ(test::read_file(saved / "huggingface/vocab.json"), "{\"é\": 1}");
    const PassthroughParts again = read_kept(checkpoint);
    ASSERT_EQ(again.files.size(), 2u);
    ASSERT_EQ(again.tensors.size(), 2u);
    EXPECT_EQ(again.tensors[0].name, kept.tensors[0].name);
    EXPECT_EQ(again.tensors[0].bytes, kept.tensors[0].bytes);
    EXPECT_EQ(again.tensors[1].dtype, layers::DType::i64);
    EXPECT_EQ(again.tensors[1].shape, layers::Shape());
  }
}

TEST(PassthroughParts, AreOfNoCheckpointThatLacksThem) {
  const test::TemporaryFolder output;
  const auto saved = save(output.path(), {}, 1);
  EXPECT_FALSE(std::filesystem::exists(saved / "kept.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(saved / "huggingface"));
  EXPECT_TRUE(read_kept(Checkpoint(saved)).files.empty());
}

TEST(PassthroughParts, AreVerified) {
  const test::TemporaryFolder output;
  const auto saved = save(output.path(), some_parts(), 1);
  test::write_file(saved / "huggingface/vocab.json", "{\"e\": 1}");
  EXPECT_THROW(Checkpoint(saved).verify(), CheckpointError);
}

}  // namespace
}  // namespace penstock::runtime
