#include "runtime/profiling/links/measure_links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace penstock::runtime {
namespace {

TEST(LinkRounds, OneNodeHasOnePairAtATime) {
  const RankPairs pairs = every_pair(5);
  const std::vector<RankPairs> rounds = link_rounds(pairs);
  ASSERT_EQ(rounds.size(), pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) EXPECT_EQ(rounds[i], RankPairs{pairs[i]});
  EXPECT_TRUE(link_rounds({}).empty());
}

TEST(LinkRounds, ApartNodesAreMeasuredAtOnce) {
  EXPECT_EQ(link_rounds({{0, 1}, {2, 3}, {1, 2}, {4, 5}, {0, 5}}, {0, 0, 1, 1, 2, 2}),
            (std::vector<RankPairs>{{{0, 1}, {2, 3}, {4, 5}}, {{1, 2}}, {{0, 5}}}));
}

/// Nodes of one rank each, as in a round-robin tournament.
TEST(LinkRounds, EveryPairTakesFewerThanTwiceTheNodes) {
  for (const int nodes : {2, 3, 7, 16, 37, 64}) {
    std::vector<int> own_node(static_cast<std::size_t>(nodes));
    for (int rank = 0; rank < nodes; ++rank) own_node[static_cast<std::size_t>(rank)] = rank;
    EXPECT_LT(std::ssize(link_rounds(every_pair(nodes), own_node)), 2 * nodes);
  }
  std::vector<int> sixteen(16);
  for (int rank = 0; rank < 16; ++rank) sixteen[static_cast<std::size_t>(rank)] = rank;
  EXPECT_EQ(link_rounds(every_pair(16), sixteen).size(), 15u);
}

TEST(LinkRounds, HoldEachPairOnceAndNoNodeTwice) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 50; ++trial) {
    const int ranks = 2 + static_cast<int>(random() % 19);
    std::vector<int> nodes(static_cast<std::size_t>(ranks));
    for (int& node : nodes) node = static_cast<int>(random() % 5);
    RankPairs pairs = every_pair(ranks);
    std::ranges::shuffle(pairs, random);
    pairs.resize(1 + random() % pairs.size());

    std::map<int, int> of_node;  // pairs
    RankPairs held;
    const std::vector<RankPairs> rounds = link_rounds(pairs, nodes);
    for (const RankPairs& round : rounds) {
      std::set<int> busy;
      for (const auto& pair : round) {
        held.push_back(pair);
        for (const int node : std::set<int>{nodes[static_cast<std::size_t>(pair.first)],
                                            nodes[static_cast<std::size_t>(pair.second)]}) {
          EXPECT_TRUE(busy.insert(node).second);
          ++of_node[node];
        }
      }
    }
    int max = 0;
    for (const auto& [node, count] : of_node) max = std::max(max, count);
    EXPECT_LE(std::ssize(rounds), 2 * max - 1);
    std::ranges::sort(held);
    std::ranges::sort(pairs);
    EXPECT_EQ(held, pairs);
  }
}

}  // namespace
}  // namespace penstock::runtime
