#include "runtime/checkpoint/retention.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "base/error.h"
#include "runtime/checkpoint/best.h"
#include "runtime/checkpoint/output_folder.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using Steps = std::vector<std::int64_t>;

class Retention : public testing::Test {
 protected:
  Retention() {
    for (const std::int64_t step : {10, 20, 30, 40}) test::save_example(output_.path(), step, 1);
  }
  Steps stored() const {
    Steps steps;
    for (const auto& checkpoint : list_checkpoints(output_.path()))
      steps.push_back(checkpoint.step);
    return steps;
  }
  const test::TemporaryFolder output_;
};

TEST_F(Retention, KeepsTheNewest) {
  keep_newest(output_.path(), 5);
  EXPECT_EQ(stored(), (Steps{10, 20, 30, 40}));
  keep_newest(output_.path(), 3);
  EXPECT_EQ(stored(), (Steps{20, 30, 40}));
  keep_newest(output_.path(), 0);
  EXPECT_EQ(stored(), (Steps{40}));
}

TEST_F(Retention, KeepsTheBestBesides) {
  mark_best(output_.path(), {10, "cer", 0.5});
  keep_newest(output_.path(), 2);
  EXPECT_EQ(stored(), (Steps{10, 30, 40}));
}

TEST_F(Retention, RemovesNothingBehindABrokenOne) {
  const fs::path newest = output_.path() / checkpoint_name(40);
  const auto refuses = [this] {
    EXPECT_THROW(keep_newest(output_.path(), 1), CheckpointError);
    EXPECT_EQ(stored(), (Steps{10, 20, 30, 40}));
  };
  fs::resize_file(newest / "stage-0.safetensors",
                  fs::file_size(newest / "stage-0.safetensors") - 1);
  refuses();
  fs::remove(newest / "stage-0.safetensors");
  refuses();
  fs::remove(newest / "manifest.json");
  refuses();
}

TEST_F(Retention, ReadsNoByteOfAShard) {
  const fs::path shard = output_.path() / checkpoint_name(40) / "stage-0.safetensors";
  const auto bytes = fs::file_size(shard);
  fs::remove(shard);
  test::write_file(shard, "");
  fs::resize_file(shard, bytes);  // zeros: its writer would have noticed
  keep_newest(output_.path(), 1);
  EXPECT_EQ(stored(), (Steps{40}));
}

TEST_F(Retention, NeitherCountsNorRemovesMislabelledOnes) {
  fs::copy(output_.path() / checkpoint_name(20), output_.path() / checkpoint_name(50),
           fs::copy_options::recursive);
  fs::copy(output_.path() / checkpoint_name(20), output_.path() / checkpoint_name(5),
           fs::copy_options::recursive);
  keep_newest(output_.path(), 1);
  EXPECT_EQ(stored(), (Steps{5, 40, 50}));
}

}  // namespace
}  // namespace penstock::runtime
