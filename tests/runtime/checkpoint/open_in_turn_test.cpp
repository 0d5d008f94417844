#include "runtime/checkpoint/open_in_turn.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/error.h"
#include "comm/threads.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

TEST(OpenInTurn, AllRanksGetTheNewestCheckpoint) {
  const test::TemporaryFolder folder;
  test::save_example(folder.path(), 3, 1);
  const std::filesystem::path newest = test::save_example(folder.path(), 5, 2);
  std::atomic<int> checks = 0;
  comm::run_as_threads({.ranks = 3}, [&](comm::Communicator& world) {
    const Checkpoint checkpoint =
        open_in_turn(world, folder.path(), [&](const Checkpoint&) { ++checks; });
    EXPECT_EQ(checkpoint.folder(), newest);
  });
  EXPECT_EQ(checks, 1);
}

TEST(OpenInTurn, FaultsOfTheCheckEndTheJob) {
  const test::TemporaryFolder folder;
  test::save_example(folder.path(), 3, 1);
  const auto refuse = [](const Checkpoint&) { throw CheckpointError("another model"); };
  EXPECT_THROW(comm::run_as_threads({.ranks = 2},
                                    [&](comm::Communicator& world) {
                                      (void)open_in_turn(world, folder.path(), refuse);
                                    }),
               CheckpointError);
}

}  // namespace
}  // namespace penstock::runtime
