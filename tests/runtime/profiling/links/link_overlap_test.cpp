#include "runtime/profiling/links/link_overlap.h"

#include <gtest/gtest.h>

#include <mutex>

#include "comm/threads.h"

namespace penstock::runtime {
namespace {

TEST(LinkOverlap, IsTheSameShareOnAllRanks) {
  for (const bool rendezvous : {false, true}) {
    std::mutex mutex;
    std::vector<std::vector<double>> of_ranks;
    comm::run_as_threads({.ranks = 3, .rendezvous = rendezvous}, [&](comm::Communicator& ranks) {
      const std::vector<double> shares = link_overlaps(ranks, {{2, 0}}, host_links(ranks));
      const std::scoped_lock lock(mutex);
      of_ranks.push_back(shares);
    });
    for (const std::vector<double>& shares : of_ranks) {
      EXPECT_EQ(shares, of_ranks.front());
      ASSERT_EQ(shares.size(), 2u);  // there and back
      for (const double share : shares) {
        EXPECT_GE(share, 0);
        EXPECT_LE(share, 1);
      }
    }
  }
}

}  // namespace
}  // namespace penstock::runtime
