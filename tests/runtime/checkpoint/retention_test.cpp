#include "runtime/checkpoint/retention.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "base/error.h"
#include "runtime/checkpoint/output_folder.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using Steps = std::vector<std::int64_t>;
using test::TemporaryFolder;

Steps stored_in(const fs::path& output) {
  Steps steps;
  for (const auto& checkpoint : list_checkpoints(output)) steps.push_back(checkpoint.step);
  return steps;
}

TEST(Best, IsRemembered) {
  const TemporaryFolder output;
  EXPECT_FALSE(best_checkpoint(output.path()));
  mark_best(output.path(), {20, "cer", 0.1});
  mark_best(output.path(), {30, "cer", 0.05});
  const auto best = best_checkpoint(output.path());
  ASSERT_TRUE(best);
  EXPECT_EQ(best->step, 30);
  EXPECT_EQ(best->metric, "cer");
  EXPECT_EQ(best->value, 0.05);
}

TEST(Best, RejectsADamagedMark) {
  const TemporaryFolder output;
  for (const char* text : {"", "{", "{}", R"({"checkpoint":"x","metric":"cer","value":1})"}) {
    test::write_file(output.path() / "BEST", text);
    EXPECT_THROW(best_checkpoint(output.path()), CheckpointError) << text;
  }
}

/// An output folder with checkpoints of these steps and a mark on one of them, or none.
void fill(const TemporaryFolder& output, std::vector<std::int64_t> steps, std::int64_t marked) {
  for (const std::int64_t step : steps)
    std::filesystem::create_directory(output.path() / checkpoint_name(step));
  mark_best(output.path(), {marked, "wer", 0.5});
}

TrainingState best_at(std::int64_t step) {
  TrainingState state;
  state.best_metric = "wer";
  state.best_value = 0.25;
  state.best_step = step;
  return state;
}

TEST(Best, IsWhatTheCheckpointKnows) {
  const TemporaryFolder output;
  fill(output, {10, 20}, 10);  // killed between the save of 20 and its mark
  EXPECT_TRUE(restore_best(output.path(), best_at(20)));
  EXPECT_EQ(best_checkpoint(output.path())->step, 20);
  EXPECT_EQ(best_checkpoint(output.path())->value, 0.25);
}

TEST(Best, IsForgottenOnceItIsGone) {
  const TemporaryFolder output;
  fill(output, {10}, 20);  // 20 was set aside, and 5 removed when 20 became the best
  EXPECT_FALSE(restore_best(output.path(), best_at(5)));
  EXPECT_FALSE(best_checkpoint(output.path()));
}

TEST(Best, StaysWhereTheCheckpointKnowsNone) {
  const TemporaryFolder output;
  fill(output, {10, 20}, 10);
  EXPECT_FALSE(restore_best(output.path(), TrainingState{}));
  EXPECT_EQ(best_checkpoint(output.path())->step, 10);
}

class Retention : public testing::Test {
 protected:
  Retention() {
    for (const std::int64_t step : {10, 20, 30, 40}) test::save_example(output_.path(), step, 1);
  }
  Steps stored() const { return stored_in(output_.path()); }
  const TemporaryFolder output_;
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

TEST_F(Retention, LeavesWhatIsInUse) {
  keep_newest(output_.path(), 1, [](std::int64_t step) { return step == 20; });
  EXPECT_EQ(stored(), (Steps{20, 40}));
}

TEST_F(Retention, RemovesNothingBehindABrokenOne) {
  const fs::path newest = output_.path() / checkpoint_name(40);
  const auto refuses = [this] {
    EXPECT_THROW(keep_newest(output_.path(), 1), Error);
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

class Room : public testing::Test {
 protected:
  Steps stored() const { return stored_in(output_.path()); }
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

  const TemporaryFolder output_;
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
