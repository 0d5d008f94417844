#include "comm/run_on_rank_0.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "base/error.h"
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

TEST(Lead, RaisesRank0sErrorOnAllRanks) {
  EXPECT_EQ(raised<ConfigError>(), 3);
  EXPECT_EQ(raised<DataError>(), 3);
  EXPECT_EQ(raised<CheckpointError>(), 3);
}

TEST(Lead, WorksOnRank0Alone) {
  std::atomic<int> calls = 0;
  run_as_threads({.ranks = 3}, [&](Communicator& world) {
    run_on_rank_0(world, [&] {
      EXPECT_EQ(world.rank(), 0);
      ++calls;
    });
  });
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace penstock::comm
