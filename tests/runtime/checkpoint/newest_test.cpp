#include "runtime/checkpoint/newest.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using test::save_example;
using test::TemporaryFolder;

class Newest : public testing::Test {
 protected:
  std::optional<Checkpoint> find() {
    reports_.clear();
    return newest(output_.path(), [&](const std::string& text) { reports_.push_back(text); });
  }
  void truncate(const fs::path& file) { fs::resize_file(file, fs::file_size(file) - 1); }

  const TemporaryFolder output_;
  std::vector<std::string> reports_;
};

TEST_F(Newest, IsNothingWhereNothingWasSaved) {
  EXPECT_FALSE(find());
  EXPECT_FALSE(newest(output_.path() / "missing", [](const std::string&) {}));
}

TEST_F(Newest, IsTheOneWithTheHighestStep) {
  for (const std::int64_t step : {1'000'000'000, 20, 999'999'999})
    save_example(output_.path(), step, 1);
  EXPECT_EQ(find()->state().step, 1'000'000'000);
  EXPECT_TRUE(reports_.empty());
}

TEST_F(Newest, FallsBackOverBrokenOnesAndReportsEach) {
  for (const std::int64_t step : {10, 20, 30, 40}) save_example(output_.path(), step, 2);
  truncate(output_.path() / "checkpoint-000000040" / "stage-1.safetensors");
  fs::remove(output_.path() / "checkpoint-000000030" / "manifest.json");
  EXPECT_EQ(find()->state().step, 20);
  ASSERT_EQ(reports_.size(), 2u);
  EXPECT_NE(reports_[0].find("checkpoint-000000040/stage-1.safetensors"), std::string::npos);
  EXPECT_NE(reports_[1].find("checkpoint-000000030/manifest.json"), std::string::npos);
}

TEST_F(Newest, IsNoCopyByAnotherName) {
  for (const std::int64_t step : {8, 10, 12}) save_example(output_.path(), step, 1);
  fs::copy(output_.path() / "checkpoint-000000008", output_.path() / "checkpoint-000000014",
           fs::copy_options::recursive);
  test::write_file(output_.path() / "checkpoint-000000099", "text");
  EXPECT_EQ(find()->state().step, 12);
  EXPECT_EQ(reports_.size(), 2u);
  EXPECT_EQ(open_checkpoint(output_.path()).state().step, 12);
  EXPECT_EQ(open_checkpoint(output_.path() / "checkpoint-000000014").state().step, 8);
}

TEST_F(Newest, IsAnErrorWhereAllHaveOtherNames) {
  fs::rename(save_example(output_.path(), 8, 1), output_.path() / "checkpoint-000000014");
  const std::string message = message_of<CheckpointError>([&] { find(); });
  EXPECT_NE(message.find("of the step in its name"), std::string::npos) << message;
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_NE(reports_[0].find("As checkpoint-000000008 it would count"), std::string::npos);
}

TEST_F(Newest, DoesNotCallAnUnopenableFileBroken) {
  save_example(output_.path(), 10, 1);
  const fs::path shard = save_example(output_.path(), 20, 1) / "stage-0.safetensors";
  fs::rename(shard, output_.path() / "elsewhere");
  fs::create_symlink(shard, shard);  // open(2) fails with ELOOP
  const std::string message = message_of<CheckpointError>([&] { find(); });
  EXPECT_NE(message.find(shard.string() + ": can't be opened"), std::string::npos) << message;
  EXPECT_TRUE(reports_.empty());
}

TEST_F(Newest, IsAnErrorWhereEveryOneIsBroken) {
  truncate(save_example(output_.path(), 10, 1) / "manifest.json");
  EXPECT_THROW(find(), CheckpointError);
  EXPECT_EQ(reports_.size(), 1u);
}

TEST_F(Newest, OpeningForEvaluationDoesNotFallBack) {
  const fs::path older = save_example(output_.path(), 10, 1);
  const fs::path newer = save_example(output_.path(), 20, 1);
  EXPECT_EQ(open_checkpoint(output_.path()).state().step, 20);
  EXPECT_EQ(open_checkpoint(older).state().step, 10);
  truncate(newer / "stage-0.safetensors");
  const std::string message =
      message_of<CheckpointError>([&] { (void)open_checkpoint(output_.path()); });
  EXPECT_NE(message.find((newer / "stage-0.safetensors").string()), std::string::npos) << message;
}

TEST_F(Newest, OpeningSaysWhatIsNoCheckpoint) {
  EXPECT_THROW((void)open_checkpoint(output_.path()), CheckpointError);
  EXPECT_THROW((void)open_checkpoint(output_.path() / "missing"), CheckpointError);
  fs::remove(save_example(output_.path(), 10, 1) / "manifest.json");
  const std::string message =
      message_of<CheckpointError>([&] { (void)open_checkpoint(output_.path()); });
  EXPECT_NE(message.find("manifest.json"), std::string::npos) << message;
}

}  // namespace
}  // namespace penstock::runtime
