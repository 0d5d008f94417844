#include "comm/disjoint_sum.h"

#include <gtest/gtest.h>

#include <cmath>

#include "comm/collectives.h"
#include "comm/threads.h"

namespace penstock::comm {
namespace {

/// Entry i belongs to rank i % ranks; the last is nobody's.
std::vector<double> own_numbers(const Communicator& ranks, int round) {
  std::vector<double> own(2 * ranks.size() + 3, -0.0);
  for (std::size_t i = 0; i + 1 < own.size(); ++i)
    if (static_cast<int>(i) % ranks.size() == ranks.rank())
      own[i] = std::sqrt(i + 2.0) * (round + 1);
  return own;
}

TEST(DisjointSum, IsTheSumWhateverComesBetween) {
  for (const int size : {1, 2, 3, 5})
    for (const bool rendezvous : {false, true})
      run_as_threads({.ranks = size, .rendezvous = rendezvous}, [](Communicator& ranks) {
        for (int round = 0; round < 3; ++round) {
          std::vector<double> expected = own_numbers(ranks, round);
          DisjointSum sum(ranks, expected);
          sum_disjoint(ranks, expected);  // other messages pass meanwhile
          const std::vector<double> found = sum.finish();
          EXPECT_EQ(found, expected);
          EXPECT_FALSE(std::signbit(found.back()));
        }
      });
}

// Several are under way at once, and end in the order in which they began.
TEST(DisjointSum, KeepsItsOrder) {
  run_as_threads({.ranks = 3, .rendezvous = true}, [](Communicator& ranks) {
    DisjointSum first(ranks, own_numbers(ranks, 0)), second(ranks, own_numbers(ranks, 1));
    const std::vector<double> one = first.finish(), two = second.finish();
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(two[i], 2 * one[i]);
  });
}

}  // namespace
}  // namespace penstock::comm
