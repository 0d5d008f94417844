#include "comm/link_overlap.h"

#include <gtest/gtest.h>

#include <mutex>

#include "comm/threads.h"

namespace penstock::comm {
namespace {

TEST(LinkOverlap, IsTheSameShareOnAllRanks) {
  for (const bool rendezvous : {false, true}) {
    std::mutex mutex;
    std::vector<double> shares;
    run_as_threads({.ranks = 3, .rendezvous = rendezvous}, [&](Communicator& ranks) {
      const double share = link_overlap(ranks, 2, 0);
      const std::scoped_lock lock(mutex);
      shares.push_back(share);
    });
    for (const double share : shares) {
      EXPECT_EQ(share, shares.front());
      EXPECT_GE(share, 0);
      EXPECT_LE(share, 1);
    }
  }
}

}  // namespace
}  // namespace penstock::comm
