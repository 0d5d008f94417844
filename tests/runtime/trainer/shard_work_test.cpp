#include "runtime/trainer/shard_work.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "base/error.h"
#include "base/file_handle.h"
#include "runtime/checkpoint/safetensors/safetensors.h"
#include "runtime/checkpoint/shard.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/system/file_size_limit.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using namespace std::chrono_literals;

class WrittenShard : public testing::Test {
 protected:
  ShardWork work() const {
    return {.folder = folder_.path(),
            .shard = "stage-0",
            .pieces = test::example_pieces(tensors_, 0, 1)};
  }

  const test::TemporaryFolder folder_;
  const std::vector<test::ExampleTensor> tensors_ = test::example_tensors(3);
};

TEST_F(WrittenShard, IsWholeOnTheDisk) {
  const ShardIndex index = write_and_read_back(work(), {});
  EXPECT_EQ(index.file, "stage-0.safetensors");
  EXPECT_NO_THROW(read_back(folder_.path(), index));
}

TEST_F(WrittenShard, IsTriedAgainUntilThereIsRoom) {
  std::optional<test::FileSizeLimit> full(1000);
  std::jthread cleaner([&full] {
    std::this_thread::sleep_for(50ms);
    full.reset();
  });
  ShardWork often = work();
  often.pauses.assign(1000, 10ms);
  const ShardIndex index = write_and_read_back(often, {});
  EXPECT_NO_THROW(read_back(folder_.path(), index));
}

TEST_F(WrittenShard, IsGivenUpBehindTheLastPause) {
  const test::FileSizeLimit full(1000);
  ShardWork twice = work();
  twice.pauses = {1ms};
  const std::string fault =
      test::message_of<FileError>([&] { (void)write_and_read_back(twice, {}); });
  EXPECT_NE(fault.find("stage-0.safetensors"), std::string::npos) << fault;
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(WrittenShard, EndsItsPauseWithTheRun) {
  const test::FileSizeLimit full(1000);
  ShardWork patient = work();
  patient.pauses = {1h};
  std::stop_source run;
  std::jthread end([&run] {
    std::this_thread::sleep_for(20ms);
    run.request_stop();
  });
  EXPECT_THROW((void)write_and_read_back(patient, run.get_token()), CheckpointError);
  EXPECT_THROW((void)write_and_read_back(work(), run.get_token()), CheckpointError);
}

}  // namespace
}  // namespace penstock::runtime
