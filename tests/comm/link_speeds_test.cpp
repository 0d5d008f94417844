#include "comm/link_speeds.h"

#include <gtest/gtest.h>

#include <mutex>

#include "comm/threads.h"

namespace penstock::comm {
namespace {

TEST(LinkSpeeds, AllRanksGetBothWaysBetweenNeighbours) {
  for (bool rendezvous : {false, true}) {
    std::mutex mutex;
    std::vector<std::vector<LinkSpeed>> of_ranks;
    run_as_threads({.ranks = 3, .rendezvous = rendezvous}, [&](Communicator& ranks) {
      const std::vector<LinkSpeed> speeds = link_speeds(ranks);
      const std::scoped_lock lock(mutex);
      of_ranks.push_back(speeds);
    });
    const std::vector<std::pair<int, int>> expected{{0, 1}, {1, 0}, {1, 2}, {2, 1}};
    for (const auto& speeds : of_ranks) {
      ASSERT_EQ(speeds.size(), expected.size());
      for (std::size_t i = 0; i < speeds.size(); ++i) {
        EXPECT_EQ(std::pair(speeds[i].from, speeds[i].to), expected[i]);
        EXPECT_GT(speeds[i].latency_s, 0);
        EXPECT_GT(speeds[i].bytes_per_s, 0);
        EXPECT_EQ(speeds[i].latency_s, of_ranks[0][i].latency_s);
        EXPECT_EQ(speeds[i].bytes_per_s, of_ranks[0][i].bytes_per_s);
      }
    }
  }
}

TEST(LinkSpeeds, AreOfEveryPairThatIsAskedFor) {
  EXPECT_EQ(every_pair(3), (RankPairs{{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}}));
  run_as_threads({.ranks = 3}, [&](Communicator& ranks) {
    const auto speeds = link_speeds(ranks, {{0, 2}, {2, 1}});
    ASSERT_EQ(speeds.size(), 2u);
    EXPECT_EQ(speeds[0].to, 2);
    EXPECT_EQ(speeds[1].from, 2);
    for (const LinkSpeed& speed : speeds) EXPECT_GT(speed.bytes_per_s, 0);
  });
}

TEST(LinkSpeeds, OneRankHasNoLink) {
  run_as_threads({.ranks = 1},
                 [](Communicator& alone) { EXPECT_TRUE(link_speeds(alone).empty()); });
}

}  // namespace
}  // namespace penstock::comm
