#include "runtime/checkpoint/save.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/file_handle.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using test::example_pieces;
using test::TemporaryFolder;

TEST(Save, IsNoCheckpointUntilItIsCommitted) {
  const TemporaryFolder output;
  const auto tensors = test::example_tensors(1);
  const fs::path folder = start_save(output.path(), 1);
  const ShardIndex shard = write_shard(folder, "stage-0", example_pieces(tensors, 0, 1));
  const auto silent = [](const std::string&) {};
  EXPECT_FALSE(newest(output.path(), silent));
  TrainingState state;
  state.step = 1;
  EXPECT_EQ(commit(folder, state, {shard}), output.path() / "checkpoint-000000001");
  EXPECT_TRUE(newest(output.path(), silent));
  mark_latest(output.path() / "checkpoint-000000001");
  EXPECT_EQ(test::read_file(output.path() / "LATEST"), "checkpoint-000000001\n");
}

TEST(Save, ClearsWhatDeadSavesLeft) {
  const TemporaryFolder output;
  const fs::path whole = test::save_example(output.path(), 1, 2);
  const fs::path stale = start_save(output.path(), 2);
  test::write_file(stale / "stage-0.safetensors.partial", "half");
  fs::create_directory(output.path() / "checkpoint-000000000.discarded");
  fs::create_directory(output.path() / "notes.partial");
  const fs::path folder = start_save(output.path(), 3);
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_FALSE(fs::exists(output.path() / "checkpoint-000000000.discarded"));
  EXPECT_TRUE(fs::exists(output.path() / "notes.partial"));
  EXPECT_TRUE(fs::exists(whole));
  abandon_save(folder);
  EXPECT_FALSE(fs::exists(folder));
}

/// A file system that can't exchange names replaces a checkpoint by two renames.
TEST(Save, RestoresWhatADeadSaveWasReplacing) {
  const TemporaryFolder output;
  const fs::path whole = test::save_example(output.path(), 1, 2);
  fs::path replaced = whole;
  replaced += ".replaced";
  fs::rename(whole, replaced);
  (void)start_save(output.path(), 1);  // restores it, and its new folder dies too
  remove_dead_saves(output.path());
  EXPECT_TRUE(newest(output.path(), [](const std::string&) {}));
  fs::copy(whole, replaced, fs::copy_options::recursive);
  remove_dead_saves(output.path());
  EXPECT_TRUE(fs::exists(whole));
  EXPECT_FALSE(fs::exists(replaced));
}

TEST(Save, ThrowsWhereTensorsAreNotCovered) {
  const TemporaryFolder output;
  const auto tensors = test::example_tensors(4);
  const fs::path folder = start_save(output.path(), 4);
  const ShardIndex half = write_shard(folder, "stage-0", example_pieces(tensors, 0, 2));
  EXPECT_THROW(commit(folder, {}, {half}), CheckpointError);
  EXPECT_FALSE(newest(output.path(), [](const std::string&) {}));
}

TEST(Save, ReplacesACheckpointOfTheSameStep) {
  const TemporaryFolder output;
  const fs::path folder = test::save_example(output.path(), 5, 1);
  test::write_file(folder / "stage-0.safetensors", "broken");
  EXPECT_EQ(test::save_example(output.path(), 5, 3), folder);
  EXPECT_NO_THROW(Checkpoint(folder).verify());
  EXPECT_EQ(std::distance(fs::directory_iterator(output.path()), {}), 1);
}

TEST(Save, SaysWhyAnOutputFolderCannotBeUsed) {
  const TemporaryFolder output;
  test::write_file(output.path() / "file", "");
  EXPECT_THROW((void)start_save(output.path() / "file", 1), FileError);
}

}  // namespace
}  // namespace penstock::runtime
