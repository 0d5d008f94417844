#include "comm/tree_rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <vector>

#include "base/bit_reversal.h"

namespace penstock::comm {
namespace {

using Lanes = std::vector<int>;
using Rounds = std::vector<TreeRounds>;  // [replica]

/// Replicas of one lane each, and ragged ones whose lanes share subtrees.
std::vector<Lanes> cases() {
  std::vector<Lanes> cases = {{3},       {7},    {2, 1, 3},    {3, 3, 2},       {2, 2, 2, 1},
                              {5, 4, 4}, {1, 7}, {1, 1, 5, 2}, {4, 4, 3, 3, 3}, {2, 2, 2, 2},
                              {1, 2, 1}};
  for (int replicas = 1; replicas <= 33; ++replicas)
    cases.emplace_back(static_cast<std::size_t>(replicas), 1);
  cases.emplace_back(64, 1);
  return cases;
}

Rounds rounds_of(const Lanes& lanes_of) {
  Rounds rounds;
  for (int replica = 0; replica < std::ssize(lanes_of); ++replica)
    rounds.push_back(sum_rounds(lanes_of, replica));
  return rounds;
}

/// Written down in full: "((0+1)+2)".
std::string tree(int begin, int end) {
  if (end - begin == 1) return std::to_string(begin);
  int left = 1;
  while (2 * left < end - begin) left *= 2;
  return "(" + tree(begin, begin + left) + "+" + tree(begin + left, end) + ")";
}

int first_lane(const std::string& sum) { return std::stoi(sum.substr(sum.find_first_not_of('('))); }

TEST(SumRounds, AddLanesInTheTree) {
  for (const Lanes& lanes_of : cases()) {
    const Rounds rounds = rounds_of(lanes_of);
    const std::size_t replicas = lanes_of.size();
    std::vector<std::vector<std::vector<std::string>>> sums(replicas);  // [replica][lane][place]
    int lanes = 0;
    for (std::size_t r = 0; r < replicas; ++r)
      for (int lane = 0; lane < lanes_of[r]; ++lane)
        sums[r].emplace_back(replicas, std::to_string(lanes++));
    for (std::size_t round = 0; round < rounds[0].size(); ++round) {
      const auto before = sums;  // no transfer needs another of its round
      for (int replica = 0; replica < std::ssize(lanes_of); ++replica)
        for (const auto& [from, to, places] : rounds[replica][round]) {
          if (to.replica != replica) continue;
          for (const int place : places) {
            std::string& sum = sums[to.replica][to.lane][place];
            const std::string& other = before[from.replica][from.lane][place];
            sum = first_lane(sum) < first_lane(other) ? "(" + sum + "+" + other + ")"
                                                      : "(" + other + "+" + sum + ")";
          }
        }
    }
    const std::vector<int> places = bit_reversed_places(static_cast<int>(replicas));
    for (std::size_t owner = 0; owner < replicas; ++owner)
      EXPECT_EQ(sums[owner][0][places[owner]], tree(0, lanes)) << replicas << " replicas";
  }
}

std::vector<std::vector<int>> between(const std::vector<TreeTransfer>& round, int from, int to) {
  std::vector<std::vector<int>> places;
  for (const TreeTransfer& transfer : round)
    if (transfer.from.replica == from && transfer.to.replica == to)
      places.push_back(transfer.places);
  return places;
}

TEST(SumRounds, AreTheSameOnBothEnds) {
  for (const Lanes& lanes_of : cases()) {
    const Rounds rounds = rounds_of(lanes_of);
    for (int a = 0; a < std::ssize(lanes_of); ++a)
      for (int b = 0; b < std::ssize(lanes_of); ++b) {
        ASSERT_EQ(rounds[a].size(), rounds[b].size());
        for (std::size_t round = 0; round < rounds[a].size(); ++round)
          EXPECT_EQ(between(rounds[a][round], a, b), between(rounds[b][round], a, b));
      }
  }
}

int sent(const TreeRounds& rounds, int replica) {
  int pieces = 0;
  for (const auto& round : rounds)
    for (const TreeTransfer& transfer : round)
      if (transfer.from.replica == replica && transfer.to.replica != replica)
        pieces += static_cast<int>(transfer.places.size());
  return pieces;
}

TEST(SumRounds, SendEveryPieceButTheOwnOnce) {
  for (int replicas = 1; replicas <= 64; ++replicas)
    for (const int lanes : {1, 2, 4})
      for (int replica = 0; replica < replicas; ++replica)
        EXPECT_EQ(sent(sum_rounds(Lanes(replicas, lanes), replica), replica), replicas - 1);
}

TEST(SumRounds, NeverTakeAPieceFromItsOwner) {
  for (const Lanes& lanes_of : cases()) {
    const std::vector<int> owner_at = bit_reversed(static_cast<int>(lanes_of.size()));
    for (const TreeRounds& rounds : rounds_of(lanes_of))
      for (const auto& round : rounds)
        for (const TreeTransfer& transfer : round)
          for (const int place : transfer.places) {
            if (transfer.from.replica != owner_at[place]) continue;
            EXPECT_EQ(transfer.to.replica, owner_at[place]);
          }
  }
}

int added(const TreeRounds& rounds, int replica) {
  int pieces = 0;
  for (const auto& round : rounds)
    for (const TreeTransfer& transfer : round)
      if (transfer.to.replica == replica) pieces += static_cast<int>(transfer.places.size());
  return pieces;
}

/// On average there is one addition for each piece that is sent.
TEST(SumRounds, ShareAdditionsEvenly) {
  for (int replicas = 2; replicas <= 64; ++replicas)
    for (int replica = 0; replica < replicas; ++replica) {
      const TreeRounds rounds = sum_rounds(Lanes(replicas, 1), replica);
      EXPECT_LT(added(rounds, replica), replicas - 1 + std::ssize(rounds)) << replicas;
    }
}

TEST(SumRounds, SendNeighboursTogether) {
  for (int replicas = 1; replicas <= 64; ++replicas)
    for (int replica = 0; replica < replicas; ++replica)
      for (const auto& round : sum_rounds(Lanes(replicas, 1), replica))
        for (const TreeTransfer& transfer : round)
          EXPECT_EQ(transfer.places.back() - transfer.places.front() + 1,
                    std::ssize(transfer.places));
}

TEST(SumRounds, MeetTheNearestReplicaFirst) {
  for (int replica = 0; replica < 16; ++replica) {
    const TreeRounds rounds = sum_rounds(Lanes(16, 1), replica);
    ASSERT_EQ(rounds.size(), 4u);
    for (std::size_t round = 0; round < 4; ++round) {
      ASSERT_EQ(rounds[round].size(), 2u);  // one each way
      const TreeTransfer& transfer = rounds[round][0];
      EXPECT_EQ(transfer.from.replica ^ transfer.to.replica, 1 << round);
      EXPECT_EQ(transfer.places.size(), std::size_t{8} >> round);
    }
  }
}

TEST(GatherRounds, BringEveryPieceOnceToAll) {
  for (int replicas = 1; replicas <= 64; ++replicas) {
    std::vector<std::vector<int>> has(replicas, std::vector<int>(replicas));
    const std::vector<int> places = bit_reversed_places(replicas);
    for (int replica = 0; replica < replicas; ++replica) has[replica][places[replica]] = 1;
    Rounds rounds;
    for (int replica = 0; replica < replicas; ++replica)
      rounds.push_back(gather_rounds(replicas, replica));
    for (std::size_t round = 0; round < rounds[0].size(); ++round) {
      const auto before = has;
      for (int replica = 0; replica < replicas; ++replica)
        for (const TreeTransfer& transfer : rounds[replica][round]) {
          if (transfer.to.replica != replica) continue;
          for (const int place : transfer.places) {
            EXPECT_EQ(before[transfer.from.replica][place], 1);
            ++has[replica][place];
          }
        }
    }
    EXPECT_EQ(has, std::vector(replicas, std::vector(replicas, 1)));
  }
}

TEST(TreePeers, AreFewForPowersOfTwo) {
  EXPECT_EQ(tree_peers(Lanes(16, 1), 5), (std::vector<int>{1, 4, 7, 13}));
  EXPECT_EQ(tree_peers({3}, 0), std::vector<int>{});
  EXPECT_EQ(tree_peers({1, 1, 1}, 2), (std::vector<int>{0, 1}));
}

bool names(const TreeRounds& rounds, int a, int b) {
  for (const auto& round : rounds)
    for (const TreeTransfer& transfer : round)
      if ((transfer.from.replica == a && transfer.to.replica == b) ||
          (transfer.from.replica == b && transfer.to.replica == a))
        return true;
  return false;
}

TEST(TreePeers, AreThoseInWhoseRoundsOneIs) {
  for (const Lanes& lanes_of : cases()) {
    const int replicas = static_cast<int>(lanes_of.size());
    const Rounds sums = rounds_of(lanes_of), gathers = rounds_of(Lanes(replicas, 1));
    for (int replica = 0; replica < replicas; ++replica) {
      std::vector<int> peers;
      for (int other = 0; other < replicas; ++other)
        if (other != replica &&
            (names(sums[other], other, replica) || names(gathers[other], other, replica)))
          peers.push_back(other);
      EXPECT_EQ(tree_peers(lanes_of, replica), peers);
    }
  }
}

}  // namespace
}  // namespace penstock::comm
