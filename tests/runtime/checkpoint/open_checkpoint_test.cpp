#include "runtime/checkpoint/open_checkpoint.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file_handle.h"
#include "comm/threads.h"
#include "runtime/checkpoint/output_folder.h"
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
  const std::string message = message_of<FileError>([&] { find(); });
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
  const std::string message = message_of<FileError>([&] { (void)open_checkpoint(output_.path()); });
  EXPECT_NE(message.find("manifest.json"), std::string::npos) << message;
}

TEST(OpenTogether, AllRanksGetTheNewestCheckpoint) {
  const test::TemporaryFolder folder;
  test::save_example(folder.path(), 3, 1);
  const std::filesystem::path newest = test::save_example(folder.path(), 5, 2);
  std::atomic<int> checks = 0;
  comm::run_as_threads({.ranks = 3}, [&](comm::Communicator& world) {
    const Checkpoint checkpoint =
        open_together(world, folder.path(), {.check = [&](const Checkpoint&) { ++checks; }});
    EXPECT_EQ(checkpoint.folder(), newest);
  });
  EXPECT_EQ(checks, 1);
}

TEST(OpenTogether, FaultsOfTheCheckEndTheJob) {
  const test::TemporaryFolder folder;
  test::save_example(folder.path(), 3, 1);
  const auto refuse = [](const Checkpoint&) { throw CheckpointError("another model"); };
  EXPECT_THROW(comm::run_as_threads({.ranks = 2},
                                    [&](comm::Communicator& world) {
                                      (void)open_together(world, folder.path(), {.check = refuse});
                                    }),
               CheckpointError);
}

/// Returns the error with which a job of so many ranks refuses a checkpoint.
std::string complaint(const std::filesystem::path& folder, int ranks, Verified verified) {
  return test::message_of<CheckpointError>([&] {
    comm::run_as_threads({.ranks = ranks}, [&](comm::Communicator& world) {
      (void)open_together(world, folder, {.verified = verified});
    });
  });
}

void flip(const std::filesystem::path& file, std::uint64_t byte) {
  std::string bytes = test::read_file(file);
  bytes.at(byte) ^= 16;
  test::write_file(file, bytes);
}

// Whoever's share it is in.
TEST(OpenTogether, AnyNumberOfRanksNoticesFlippedBits) {
  const test::TemporaryFolder folder;
  const std::filesystem::path saved = test::save_example(folder.path(), 3, 3);
  std::vector<std::pair<std::filesystem::path, std::uint64_t>> places;
  const Checkpoint whole(saved);
  for (const auto& [name, tensor] : whole.tensors())
    for (const CheckpointBlock& block : tensor.blocks)
      if (block.file_end > block.file_begin)
        places.emplace_back(whole.shard_path(block.shard), block.file_end - 1);
  ASSERT_GT(places.size(), 5u);
  for (const auto& [file, byte] : places) {
    flip(file, byte);
    for (const int ranks : {1, 2, 5, 40})
      EXPECT_NE(complaint(saved, ranks, Verified::all).find(file.string() + ": damaged"),
                std::string::npos)
          << file << " " << byte << ", " << ranks << " ranks";
    flip(file, byte);
  }
  EXPECT_EQ(complaint(saved, 5, Verified::all), "");
}

TEST(OpenTogether, SharesAreAllAndAboutEqual) {
  const test::TemporaryFolder folder;
  const Checkpoint checkpoint(test::save_example(folder.path(), 3, 7));
  const std::filesystem::path last = checkpoint.shard_path(6);
  std::filesystem::remove(last);
  const Checkpoint lazily(checkpoint.folder(), OpenShards::as_read);
  std::size_t complaints = 0;
  for (std::size_t number = 0; number < 7; ++number)
    complaints += !test::message_of<Error>([&] {
                     lazily.verify(Verified::all, {number, 7});
                   }).empty();
  EXPECT_GT(complaints, 0u);
  EXPECT_LE(complaints, 2u);  // whose shares hold a piece of that shard
}

TEST(OpenTogether, WhatNothingReadsMayBeLeftOut) {
  const test::TemporaryFolder folder;
  const std::filesystem::path saved = test::save_example(folder.path(), 3, 2);
  const Checkpoint whole(saved);
  for (const auto& [name, tensor] : whole.tensors()) {
    const CheckpointBlock& block = tensor.blocks.front();
    if (block.file_end == block.file_begin) continue;
    const std::filesystem::path file = whole.shard_path(block.shard);
    flip(file, block.file_begin);
    EXPECT_NE(complaint(saved, 3, Verified::all), "") << name;
    EXPECT_EQ(complaint(saved, 3, Verified::read).empty(), name.starts_with("optimizer.")) << name;
    flip(file, block.file_begin);
  }
}

TEST(NewestTogether, PassesOverWhatAnyRankFindsBroken) {
  const test::TemporaryFolder folder;
  for (const std::int64_t step : {10, 20, 30}) test::save_example(folder.path(), step, 3);
  const auto at = [&](int step) { return folder.path() / checkpoint_name(step); };
  std::filesystem::remove(at(30) / "stage-2.safetensors");
  flip(at(20) / "stage-1.safetensors",
       std::filesystem::file_size(at(20) / "stage-1.safetensors") - 1);
  std::vector<std::string> reports;
  comm::run_as_threads({.ranks = 4}, [&](comm::Communicator& world) {
    const auto found = newest_together(
        world, folder.path(), [&](const std::string& report) { reports.push_back(report); });
    ASSERT_TRUE(found);
    EXPECT_EQ(found->folder(), at(10));
  });
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_TRUE(reports[0].starts_with("checkpoint-000000030 is passed over: "));
  EXPECT_TRUE(reports[1].starts_with("checkpoint-000000020 is passed over: "));
}

TEST(NewestTogether, IsNoCopyByAnotherName) {
  const test::TemporaryFolder folder;
  for (const std::int64_t step : {8, 12}) test::save_example(folder.path(), step, 3);
  std::filesystem::copy(folder.path() / checkpoint_name(8), folder.path() / checkpoint_name(14),
                        std::filesystem::copy_options::recursive);
  std::vector<std::string> reports;
  comm::run_as_threads({.ranks = 2}, [&](comm::Communicator& world) {
    const auto found = newest_together(
        world, folder.path(), [&](const std::string& report) { reports.push_back(report); });
    ASSERT_TRUE(found);
    EXPECT_EQ(found->state().step, 12);
    EXPECT_EQ(open_together(world, folder.path()).state().step, 12);
  });
  EXPECT_EQ(reports.size(), 1u);
}

TEST(NewestTogether, IsNothingOrRefusedWhereNoneIsWhole) {
  const test::TemporaryFolder folder;
  const auto find = [&] {
    comm::run_as_threads({.ranks = 2}, [&](comm::Communicator& world) {
      EXPECT_FALSE(newest_together(world, folder.path(), [](const std::string&) {}));
    });
  };
  find();
  std::filesystem::remove(test::save_example(folder.path(), 10, 1) / "manifest.json");
  EXPECT_THROW(find(), CheckpointError);
}

const comm::Failure kWell;

comm::Failure broken() {
  return comm::failure_in([] { throw CheckpointError("manifest.json: damaged"); });
}

comm::Failure missing(const std::filesystem::path& file) {
  return comm::failure_in([&] {
    throw FileError(file, file.string() + ": can't be opened: No such file",
                    std::errc::no_such_file_or_directory);
  });
}

TEST(RankVerdict, HasNoFaultWhereAllIsWell) {
  EXPECT_EQ(verdict({kWell, kWell, kWell}).fault, "");
  EXPECT_FALSE(verdict({kWell}).unreadable);
}

TEST(RankVerdict, NamesTheFirstRankWithAFault) {
  const RankVerdict found = verdict({kWell, kWell, broken(), kWell, broken()});
  EXPECT_EQ(found.fault, "rank 2: manifest.json: damaged");
  EXPECT_FALSE(found.unreadable);
  EXPECT_EQ(verdict({broken()}).fault, "manifest.json: damaged");  // alone
}

TEST(RankVerdict, FindsAFaultInFilesNobodyHas) {
  const test::TemporaryFolder folder;
  EXPECT_FALSE(verdict({kWell, missing(folder.path() / "stage-1")}).unreadable);
}

TEST(RankVerdict, FindsNoneInFilesThatRank0Has) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "stage-1";
  test::write_file(file, "here");
  const RankVerdict found = verdict({kWell, missing(file)});
  EXPECT_TRUE(found.unreadable);
  EXPECT_TRUE(found.fault.starts_with("rank 1: " + file.string())) << found.fault;
  EXPECT_NE(found.fault.find("Rank 0 has this file"), std::string::npos) << found.fault;
}

TEST(RankVerdict, FindsNoneInUnreadableFiles) {
  const test::TemporaryFolder folder;
  const comm::Failure failure =
      comm::failure_in([&] { const FileHandle handle(folder.path(), O_WRONLY); });  // a folder
  EXPECT_TRUE(verdict({failure, kWell}).unreadable);
}

}  // namespace
}  // namespace penstock::runtime
