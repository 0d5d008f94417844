#include "runtime/checkpoint/disk_space.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "runtime/checkpoint/best.h"
#include "runtime/checkpoint/output_folder.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using Steps = std::vector<std::int64_t>;

class Room : public testing::Test {
 protected:
  Steps stored() const {
    Steps steps;
    for (const auto& checkpoint : list_checkpoints(output_.path()))
      steps.push_back(checkpoint.step);
    return steps;
  }
  void save(const Steps& steps) const {
    for (const std::int64_t step : steps) test::save_example(output_.path(), step, 2);
  }
  void damage(std::int64_t step) const {
    const fs::path shard = output_.path() / checkpoint_name(step) / "stage-1.safetensors";
    std::fstream(shard, std::ios::in | std::ios::out | std::ios::binary).seekp(-1, std::ios::end)
        << '\x55';
  }
  std::string complaint(std::uint64_t bytes, int keep) const {
    return test::message_of<CheckpointError>([&] {
      require_disk_space(output_.path(), {bytes, keep});
    });
  }

  const test::TemporaryFolder output_;
};

TEST_F(Room, IsForOneMoreThanIsKept) {
  // Other processes use this disk as well.
  const std::uint64_t part = fs::space(output_.path()).available / 100;
  EXPECT_EQ(complaint(1, 10000), "");
  EXPECT_EQ(complaint(part * 30, 2), "");  // 90 of 100 parts
  const std::string message = complaint(part * 30, 4);
  EXPECT_TRUE(message.starts_with(output_.path().string() + ": ")) << message;
  EXPECT_NE(message.find(" bytes are missing: "), std::string::npos) << message;
  EXPECT_NE(message.find("trainer.keep + 1 = 5 are held"), std::string::npos) << message;
  EXPECT_TRUE(message.ends_with("\n  trainer.keep=2")) << message;
  EXPECT_EQ(complaint(part * 30, 2), "");
}

TEST_F(Room, NamesNoKeyWhereNoneHelps) {
  const std::string message = complaint(fs::space(output_.path()).available / 3 * 2, 3);
  EXPECT_TRUE(message.ends_with("Free them, or choose another trainer.output.")) << message;
}

TEST_F(Room, CountsWhatIsStored) {
  save({10, 20, 30});
  const std::uint64_t part = fs::space(output_.path()).available / 100;
  EXPECT_EQ(complaint(part * 90, 3), "");
  EXPECT_NE(complaint(part * 90, 4), "");
  EXPECT_EQ(complaint(part * 200, 2), "");  // the oldest goes where the disk is full
  EXPECT_TRUE(complaint(part * 200, 3).ends_with("\n  trainer.keep=2"));
}

TEST_F(Room, IsMadeByTheOldest) {
  save({10, 20, 30});
  EXPECT_EQ(make_room(output_.path()), output_.path() / checkpoint_name(10));
  EXPECT_EQ(stored(), (Steps{20, 30}));
  EXPECT_TRUE(make_room(output_.path()));
  EXPECT_FALSE(make_room(output_.path()));
  EXPECT_EQ(stored(), Steps{30});
}

TEST_F(Room, IsNotMadeByTheBest) {
  save({10, 20, 30});
  mark_best(output_.path(), {10, "wer", 0.5});
  EXPECT_EQ(make_room(output_.path()), output_.path() / checkpoint_name(20));
  EXPECT_FALSE(make_room(output_.path()));
  EXPECT_EQ(stored(), (Steps{10, 30}));
}

TEST_F(Room, NeedsANewerOneThatIsWhole) {
  save({10, 20, 30});
  damage(30);
  EXPECT_TRUE(make_room(output_.path()));  // 20 is whole
  EXPECT_FALSE(make_room(output_.path()));
  EXPECT_EQ(stored(), (Steps{20, 30}));
}

}  // namespace
}  // namespace penstock::runtime
