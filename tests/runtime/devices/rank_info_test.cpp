#include "runtime/devices/rank_info.h"

#include <gtest/gtest.h>

#include "comm/threads.h"

namespace penstock::runtime {
namespace {

TEST(RankNodes, StandInTheOrderOfTheirFirstRanks) {
  const RankNodes nodes = nodes_of(std::vector<std::string>{"zebra", "ant", "zebra", "", "ant"});
  EXPECT_EQ(nodes.names, (std::vector<std::string>{"zebra", "ant", ""}));
  EXPECT_EQ(nodes.of_rank, (std::vector<int>{0, 1, 0, 2, 1}));
}

TEST(RankNodes, AreKnownToAllRanks) {
  comm::run_as_threads({.ranks = 3}, [](comm::Communicator& ranks) {
    const std::string own(static_cast<std::size_t>(ranks.rank()), 'x');
    EXPECT_EQ(texts_of_ranks(ranks, own), (std::vector<std::string>{"", "x", "xx"}));
    const RankNodes nodes = nodes_of(ranks);
    EXPECT_EQ(nodes.names, std::vector<std::string>{machine_name()});
    EXPECT_EQ(nodes.of_rank, (std::vector<int>{0, 0, 0}));
  });
}

}  // namespace
}  // namespace penstock::runtime
