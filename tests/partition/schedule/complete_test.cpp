#include "partition/schedule/complete.h"

#include <gtest/gtest.h>

namespace penstock::partition {
namespace {

using Kind = ActionKind;

TEST(WithTransfers, SendsAtOnceAndPostsReceivesOneAhead) {
  Schedule schedule{.name = "test", .micro_batches = 2, .chunk_rank = {0, 1}};
  schedule.ranks = {{{Kind::forward, 0, 0}, {Kind::forward, 0, 1}, {Kind::backward, 0, 0}},
                    {{Kind::forward, 1, 0}, {Kind::backward, 1, 0}, {Kind::forward, 1, 1}}};
  const Schedule whole = with_transfers(schedule);
  EXPECT_EQ(whole.ranks[0], (std::vector<Action>{{Kind::forward, 0, 0},
                                                 {Kind::send_activation, 0, 0},
                                                 {Kind::receive_gradient, 0, 0},
                                                 {Kind::forward, 0, 1},
                                                 {Kind::send_activation, 0, 1},
                                                 {Kind::backward, 0, 0}}));
  EXPECT_EQ(whole.ranks[1], (std::vector<Action>{{Kind::receive_activation, 1, 0},
                                                 {Kind::forward, 1, 0},
                                                 {Kind::receive_activation, 1, 1},
                                                 {Kind::backward, 1, 0},
                                                 {Kind::send_gradient, 1, 0},
                                                 {Kind::forward, 1, 1}}));
}

TEST(WithTransfers, PostsReceivesInTheOrderOfSends) {
  Schedule schedule{.name = "test", .micro_batches = 2, .forward_only = true, .chunk_rank = {0, 1}};
  schedule.ranks = {{{Kind::forward, 0, 1}, {Kind::forward, 0, 0}},
                    {{Kind::forward, 1, 0}, {Kind::forward, 1, 1}}};
  EXPECT_EQ(with_transfers(schedule).ranks[1],
            (std::vector<Action>{{Kind::receive_activation, 1, 1},
                                 {Kind::receive_activation, 1, 0},
                                 {Kind::forward, 1, 0},
                                 {Kind::forward, 1, 1}}));
}

TEST(WithTransfers, MovesWithinARank) {
  Schedule schedule{.name = "test", .micro_batches = 1, .forward_only = true, .chunk_rank = {0, 0}};
  schedule.ranks = {{{Kind::forward, 0, 0}, {Kind::forward, 1, 0}}};
  EXPECT_EQ(with_transfers(schedule).ranks, schedule.ranks);
}

}  // namespace
}  // namespace penstock::partition
