#include "runtime/checkpoint/open_together.h"

#include <gtest/gtest.h>

#include <atomic>
#include <utility>
#include <vector>

#include "base/error.h"
#include "comm/threads.h"
#include "runtime/checkpoint/output_folder.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

TEST(OpenTogether, AllRanksGetTheNewestCheckpoint) {
  const test::TemporaryFolder folder;
  test::save_example(folder.path(), 3, 1);
  const std::filesystem::path newest = test::save_example(folder.path(), 5, 2);
  std::atomic<int> checks = 0;
  comm::run_as_threads({.ranks = 3}, [&](comm::Communicator& world) {
    const Checkpoint checkpoint =
        open_together(world, folder.path(), Verified::all, [&](const Checkpoint&) { ++checks; });
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
                                      (void)open_together(world, folder.path(), Verified::all,
                                                          refuse);
                                    }),
               CheckpointError);
}

/// What a job of so many ranks says of a checkpoint.
std::string complaint(const std::filesystem::path& folder, int ranks, Verified verified) {
  return test::message_of<CheckpointError>([&] {
    comm::run_as_threads({.ranks = ranks}, [&](comm::Communicator& world) {
      (void)open_together(world, folder, verified);
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
    complaints += !test::message_of<CheckpointError>([&] {
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

}  // namespace
}  // namespace penstock::runtime
