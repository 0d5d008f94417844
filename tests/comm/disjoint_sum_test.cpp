#include "comm/disjoint_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "comm/collectives.h"
#include "comm/threads.h"
#include "tests/support/comm/counted_communicator.h"

namespace penstock::comm {
namespace {

/// Entry i belongs to rank i % ranks; of the last two one is nobody's, and to the other each rank
/// adds a whole number.
std::vector<double> own_numbers(const Communicator& ranks, int round) {
  std::vector<double> own(2 * ranks.size() + 3, -0.0);
  for (std::size_t i = 0; i + 2 < own.size(); ++i)
    if (static_cast<int>(i) % ranks.size() == ranks.rank())
      own[i] = std::sqrt(i + 2.0) * (round + 1);
  own[own.size() - 2] = (ranks.rank() + 1) * (round + 1);
  return own;
}

TEST(DisjointSum, IsTheSumWhateverComesBetween) {
  for (const int size : {1, 2, 3, 5, 16, 17, 33, 50})
    for (const bool rendezvous : {false, true})
      run_as_threads({.ranks = size, .rendezvous = rendezvous}, [](Communicator& ranks) {
        for (int round = 0; round < 3; ++round) {
          std::vector<double> expected = own_numbers(ranks, round);
          DisjointSum sum(ranks, expected);
          sum_disjoint(ranks, expected);  // other messages pass meanwhile
          if (ranks.rank() % 3 == 1) sum.progress();
          const std::vector<double> found = sum.finish();
          EXPECT_EQ(found, expected);
          EXPECT_FALSE(std::signbit(found.back()));
        }
      });
}

// Several are under way at once, and end in the order in which they began.
TEST(DisjointSum, KeepsItsOrder) {
  for (const int size : {3, 19})
    run_as_threads({.ranks = size, .rendezvous = true}, [](Communicator& ranks) {
      DisjointSum first(ranks, own_numbers(ranks, 0));
      if (ranks.rank() == 1) first.progress();
      DisjointSum second(ranks, own_numbers(ranks, 1));
      if (ranks.rank() == 2) first.progress();
      const std::vector<double> one = first.finish(), two = second.finish();
      for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(two[i], 2 * one[i]);
    });
}

TEST(DisjointSum, TellsFewRanksOfMany) {
  for (const auto& [size, expected] :
       std::vector<std::pair<int, int>>{{1, 0}, {5, 4}, {16, 15}, {17, 16}, {64, 18}}) {
    run_as_threads({.ranks = size}, [expected = expected](Communicator& ranks) {
      test::CountedCommunicator counted(ranks);
      static_cast<void>(DisjointSum(counted, own_numbers(ranks, 0)).finish());
      EXPECT_EQ(counted.counts().sent, expected);
      EXPECT_EQ(counted.counts().received, expected);
      EXPECT_LE(std::ssize(counted.counts().peers), 2 * expected);
    });
  }
}

}  // namespace
}  // namespace penstock::comm
