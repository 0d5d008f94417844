#include "comm/agree.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/file_handle.h"
#include "comm/threads.h"

namespace penstock::comm {
namespace {

/// How many of three ranks raise a `Fault` that says "gone", where rank 0's work raises it.
template <class Fault>
int raised() {
  std::atomic<int> ranks = 0;
  run_as_threads({.ranks = 3}, [&](Communicator& world) {
    try {
      run_on_rank_0(world, [] { throw Fault("gone"); });
    } catch (const Fault& error) {
      ranks += error.what() == std::string("gone");
    }
  });
  return ranks;
}

TEST(RunOnRank0, RaisesRank0sErrorOnAllRanks) {
  EXPECT_EQ(raised<ConfigError>(), 3);
  EXPECT_EQ(raised<DataError>(), 3);
  EXPECT_EQ(raised<CheckpointError>(), 3);
}

TEST(RunOnRank0, RaisesErrorsOfFilesWhole) {
  std::atomic<int> ranks = 0;
  run_as_threads({.ranks = 3}, [&](Communicator& world) {
    try {
      run_on_rank_0(world, [] { throw FileError("/a", "full", std::errc::no_space_on_device); });
    } catch (const FileError& error) {
      ranks += error.path() == "/a" && error.code() == std::errc::no_space_on_device;
    }
  });
  EXPECT_EQ(ranks, 3);
}

TEST(RunOnRank0, WorksOnRank0Alone) {
  std::atomic<int> calls = 0;
  run_as_threads({.ranks = 3}, [&](Communicator& world) {
    run_on_rank_0(world, [&] {
      EXPECT_EQ(world.rank(), 0);
      ++calls;
    });
  });
  EXPECT_EQ(calls, 1);
}

TEST(Failure, IsGatheredOfEachRank) {
  run_as_threads({.ranks = 3}, [](Communicator& world) {
    const auto failures =
        gather(world, failure_in([&] {
                 if (world.rank() == 1) throw DataError("silence");
                 if (world.rank() == 2)
                   throw FileError("/b", "gone", std::errc::no_such_file_or_directory);
               }));
    ASSERT_EQ(failures.size(), world.rank() == 0 ? 3u : 0u);
    if (world.rank() != 0) return;
    EXPECT_FALSE(failures[0]);
    EXPECT_EQ(failures[1].text, "silence");
    EXPECT_THROW(raise(failures[1]), DataError);
    EXPECT_TRUE(failures[2].missing());
    EXPECT_FALSE(failures[2].disk_full());
  });
}

TEST(Failure, OfAnotherTypePropagates) {
  EXPECT_THROW((void)failure_in([] { throw CommError("gone"); }), CommError);
}

TEST(Agreement, IsRank0sAnswer) {
  std::atomic<int> agreed = 0;
  run_as_threads({.ranks = 3}, [&](Communicator& world) {
    agreed += answer_from_rank_0(world, world.rank() == 0);
    agreed += answer_from_rank_0(world, world.rank() != 0);
  });
  EXPECT_EQ(agreed, 3);
}

}  // namespace
}  // namespace penstock::comm
