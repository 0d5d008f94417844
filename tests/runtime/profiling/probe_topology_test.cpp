#include "runtime/profiling/probe_topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <set>

#include "comm/threads.h"
#include "layers/backend.h"
#include "runtime/profiling/links/measure_links.h"
#include "tests/support/comm/counted_communicator.h"

namespace penstock::runtime {
namespace {

/// Returns the node of each rank: so many nodes of so many ranks each, one node after the other.
std::vector<int> equal_nodes(int nodes, int ranks_each) {
  std::vector<int> of_rank;
  for (int node = 0; node < nodes; ++node) of_rank.insert(of_rank.end(), ranks_each, node);
  return of_rank;
}

std::size_t rounds(const std::vector<int>& nodes) {
  return link_rounds(sampled_links(nodes), nodes).size();
}

TEST(SampledLinks, AreAllPairsOfASmallJob) {
  for (const int ranks : {1, 2, 5, 8}) {
    EXPECT_EQ(sampled_links(equal_nodes(1, ranks)), every_pair(ranks));
    EXPECT_EQ(sampled_links(equal_nodes(ranks, 1)), every_pair(ranks));
  }
}

/// docs/cluster-file.md names two of these.
TEST(SampledLinks, TakeRoundsInProportionToRanks) {
  std::vector<std::size_t> one_node, nodes_of_4, nodes_of_8;
  for (const int ranks : {2, 4, 8, 16, 32, 64}) one_node.push_back(rounds(equal_nodes(1, ranks)));
  for (const int ranks : {8, 16, 32, 64}) nodes_of_4.push_back(rounds(equal_nodes(ranks / 4, 4)));
  for (const int ranks : {16, 32, 64, 1024})
    nodes_of_8.push_back(rounds(equal_nodes(ranks / 8, 8)));
  EXPECT_EQ(one_node, (std::vector<std::size_t>{1, 6, 28, 24, 48, 96}));
  EXPECT_EQ(nodes_of_4, (std::vector<std::size_t>{22, 12, 20, 36}));
  EXPECT_EQ(nodes_of_8, (std::vector<std::size_t>{30, 34, 42, 282}));
  for (int ranks = 9; ranks < 80; ++ranks)
    for (const int each : {1, 3, 8, 11, 80}) {
      std::vector<int> nodes(static_cast<std::size_t>(ranks));
      for (int rank = 0; rank < ranks; ++rank) nodes[static_cast<std::size_t>(rank)] = rank / each;
      EXPECT_LE(rounds(nodes), 28u + 4u * static_cast<unsigned>(ranks)) << ranks << ' ' << each;
    }
}

TEST(SampledLinks, HaveEveryClassWhereverItsRanksAre) {
  std::mt19937 random(11);
  std::vector<int> nodes = equal_nodes(3, 5);
  nodes.insert(nodes.end(), {3, 4, 4});
  std::map<std::pair<int, int>, int> expected;
  for (int shuffled = 0; shuffled < 5; ++shuffled) {
    std::map<std::pair<int, int>, int> classes;
    std::set<int> ranks;
    for (const auto& [one, other] : sampled_links(nodes)) {
      EXPECT_LT(one, other);
      ++classes[std::minmax(nodes[static_cast<std::size_t>(one)],
                            nodes[static_cast<std::size_t>(other)])];
      ranks.insert({one, other});
    }
    EXPECT_EQ(classes.size(), 4u + 5 * 4 / 2);  // nodes of several ranks, pairs of nodes
    EXPECT_EQ(ranks.size(), nodes.size());
    if (shuffled == 0) expected = classes;
    EXPECT_EQ(classes, expected);
    std::ranges::shuffle(nodes, random);
  }
  EXPECT_EQ((expected[{0, 1}]), 2);
  EXPECT_EQ((expected[{0, 0}]), 10);
  EXPECT_EQ((expected[{0, 3}]), 2);
}

TEST(SampledLinks, BetweenNodesReachEveryRank) {
  const std::vector<int> nodes = equal_nodes(9, 8);
  std::set<int> reached;
  for (const auto& [one, other] : sampled_links(nodes))
    if (nodes[static_cast<std::size_t>(one)] != nodes[static_cast<std::size_t>(other)])
      reached.insert({one, other});
  EXPECT_EQ(reached.size(), nodes.size());
}

/// Speeds that follow from the nodes alone: then no order of the ranks shows.
TEST(RatesOfPairs, DoNotDependOnTheOrderOfRanks) {
  std::vector<int> nodes = equal_nodes(3, 9);
  std::mt19937 random(5);
  for (int shuffled = 0; shuffled < 3; ++shuffled, std::ranges::shuffle(nodes, random)) {
    const auto node = [&](int rank) { return nodes[static_cast<std::size_t>(rank)]; };
    std::vector<LinkSpeed> measured;
    for (const auto& [one, other] : sampled_links(nodes)) {
      measured.push_back({one, other, 1.0 + node(one), 2.0 + node(other)});
      measured.push_back({other, one, 1.0 + node(other), 2.0 + node(one)});
    }
    const auto rates = rates_of_pairs(measured, nodes);
    for (int from = 0; from < 27; ++from)
      for (int to = 0; to < 27; ++to) {
        if (from == to) continue;
        EXPECT_EQ(rates[static_cast<std::size_t>(from * 27 + to)].latency, 1.0 + node(from));
        EXPECT_EQ(rates[static_cast<std::size_t>(from * 27 + to)].bandwidth, 2.0 + node(to));
      }
  }
}

TEST(RatesOfPairs, KeepWholeClassesAndGiveMedians) {
  // Nodes of 9 ranks and of 2: of the second every pair is measured, both ways.
  std::vector<int> nodes = equal_nodes(1, 9);
  nodes.insert(nodes.end(), {1, 1});
  std::vector<LinkSpeed> measured{{9, 10, 7, 70}, {10, 9, 8, 80}};
  measured.insert(measured.end(), {{0, 1, 1, 30}, {1, 0, 5, 10}, {1, 2, 2, 20}});
  measured.insert(measured.end(), {{0, 9, 3, 5}, {1, 10, 5, 9}});
  const auto rates = rates_of_pairs(measured, nodes);
  const auto rate = [&](int from, int to) {
    const auto& found = rates[static_cast<std::size_t>(from * 11 + to)];
    return std::pair(found.latency, found.bandwidth);
  };
  EXPECT_EQ(rate(9, 10), std::pair(7.0, 70.0));
  EXPECT_EQ(rate(10, 9), std::pair(8.0, 80.0));
  EXPECT_EQ(rate(0, 1), std::pair(2.0, 20.0));
  EXPECT_EQ(rate(8, 3), std::pair(2.0, 20.0));
  EXPECT_EQ(rate(8, 10), std::pair(4.0, 7.0));
}

/// An end that moves nothing.
struct NoEnd final : LinkEnd {
  void send(std::size_t, int) override {}
  void receive(std::size_t, int) override {}
  void compute(double) override {}
  void finish() override {}
};

TEST(SampledLinks, TakeMessagesInProportionToRoundsAndRanks) {
  for (const int ranks : {2, 7, 16, 64}) {
    const std::vector<int> nodes = equal_nodes(1, ranks);
    const RankPairs pairs = sampled_links(nodes);
    std::mutex mutex;
    std::int64_t sent = 0, ends = 0;
    comm::run_as_threads({.ranks = ranks}, [&](comm::Communicator& world) {
      test::CountedCommunicator counted(world);
      std::int64_t opened = 0;
      const auto speeds = link_speeds(
          counted, pairs, [&](int) { return ++opened, std::make_unique<NoEnd>(); }, nodes);
      EXPECT_EQ(speeds.size(), 2 * pairs.size());
      const std::scoped_lock lock(mutex);
      sent += counted.counts().sent;
      ends += opened;
    });
    const auto measured = std::ssize(pairs);
    EXPECT_EQ(ends, 2 * measured);
    // A barrier a round, the figures at the end, and two efforts each way of a pair.
    const std::int64_t tree = 2 * (ranks - 1);
    EXPECT_EQ(sent, tree * (static_cast<std::int64_t>(rounds(nodes)) + 1) + 4 * measured);
  }
}

TEST(ProbeTopology, IsOneNodeWithALinkPerPair) {
  comm::run_as_threads({.ranks = 3}, [](comm::Communicator& world) {
    const auto [cluster, links] = probe_topology(world);
    if (layers::cuda_device_count() == 0) {
      EXPECT_EQ(links, DeviceLinks::host);
    }
    EXPECT_EQ(cluster.nodes.size(), 1u);
    ASSERT_EQ(cluster.size(), 3);
    EXPECT_GT(cluster.devices[2].memory, 1e8);
    EXPECT_EQ(cluster.devices[0].memory, cluster.devices[2].memory);
    for (int from = 0; from < 3; ++from)
      for (int to = 0; to < 3; ++to) {
        if (from == to) continue;
        EXPECT_GT(cluster.link(from, to).latency, 0);
        EXPECT_GT(cluster.link(from, to).bandwidth, 1);
      }
    EXPECT_GE(cluster.overlap, 0);
    EXPECT_LE(cluster.overlap, 1);
  });
}

TEST(ProbeTopology, OneRankHasNoLink) {
  comm::run_as_threads({.ranks = 1}, [](comm::Communicator& world) {
    const partition::Cluster cluster = probe_topology(world).cluster;
    EXPECT_EQ(cluster.size(), 1);
    EXPECT_EQ(cluster.overlap, 1);
  });
}

}  // namespace
}  // namespace penstock::runtime
