#include "runtime/profiling/links/link_end.h"

#include <gtest/gtest.h>

#include "comm/threads.h"

namespace penstock::runtime {
namespace {

TEST(LinkEnd, PairsAreNeighboursOrAll) {
  EXPECT_EQ(neighbours(4), (RankPairs{{0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(every_pair(4), (RankPairs{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}));
  EXPECT_TRUE(neighbours(1).empty());
  EXPECT_TRUE(every_pair(1).empty());
}

TEST(LinkEnd, OfTheHostMovesMessagesWhileItComputes) {
  for (const bool rendezvous : {false, true})
    comm::run_as_threads({.ranks = 3, .rendezvous = rendezvous}, [](comm::Communicator& ranks) {
      if (ranks.rank() == 1) return;
      const std::unique_ptr<LinkEnd> end = host_links(ranks)(ranks.rank() == 0 ? 2 : 0);
      for (const std::size_t bytes : {std::size_t{13}, kLinkMessage}) {
        if (ranks.rank() == 0) {
          end->send(bytes, kLinkMessages);
          end->compute(1e-4);
          end->receive(7);
        } else {
          end->receive(bytes, kLinkMessages);
          end->send(7);
        }
        end->finish();
      }
    });
}

}  // namespace
}  // namespace penstock::runtime
