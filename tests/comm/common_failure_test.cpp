#include "comm/common_failure.h"

#include <gtest/gtest.h>

#include <vector>

#include "comm/threads.h"

namespace penstock::comm {
namespace {

/// Returns each of three ranks' answer (0 or 1) when it fails with its code. A rank with code 0
/// goes on and has -1.
std::vector<int> told(const std::vector<int>& codes) {
  std::vector<int> answers(codes.size(), -1);
  run_as_threads({.ranks = static_cast<int>(codes.size())}, [&](Communicator& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    if (codes[rank] != 0)
      answers[rank] = all_ranks_fail(world, codes[rank], std::chrono::milliseconds(300));
  });
  return answers;
}

TEST(AllRanksFail, WhereEachHasTheSameCode) {
  EXPECT_EQ(told({3, 3, 3}), (std::vector<int>{1, 1, 1}));
}

TEST(AllRanksFail, NotWhereOneGoesOn) {
  EXPECT_EQ(told({3, 0, 3}), (std::vector<int>{0, -1, 0}));
  EXPECT_EQ(told({0, 3, 3}), (std::vector<int>{-1, 0, 0}));
}

TEST(AllRanksFail, NotWhereCodesDiffer) { EXPECT_EQ(told({3, 4, 3}), (std::vector<int>{0, 0, 0})); }

}  // namespace
}  // namespace penstock::comm
