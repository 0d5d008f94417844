#include "tools/reports/trace_flows.h"

#include <gtest/gtest.h>

namespace penstock::tools {
namespace {

partition::TimedMessage message(int to, int micro_batch, double start, double end) {
  return {.edge = {0, 1, partition::Edge::Kind::activation},
          .micro_batch = micro_batch,
          .to = to,
          .sent = start - 1,
          .start = start,
          .end = end};
}

TEST(TraceMessages, OnesUnderWayTogetherLieApart) {
  runtime::TracedStep first{.begin = 10}, second{.begin = 20};
  constexpr auto kBy = runtime::Prediction::beforehand;
  first.predicted[kBy].messages = {message(1, 0, 1, 4), message(1, 1, 2, 5), message(0, 2, 3, 6),
                                   message(1, 3, 4, 11)};
  second.predicted[kBy].messages = {message(1, 4, 0, 2), message(1, 5, 0.5, 2)};
  const auto list = messages_in_lanes({first, second}, kBy);
  ASSERT_EQ(list.size(), 6u);
  std::vector<int> lanes;
  for (const TraceMessage& each : list) lanes.push_back(each.lane);
  EXPECT_EQ(lanes, (std::vector<int>{0, 1, 0, 0, 1, 2}));  // the third is another rank's
  EXPECT_EQ(list[3].message.start, 14);
  EXPECT_EQ(list[3].message.end, 21);  // while the next step's are under way
  EXPECT_EQ(list[3].step, 0u);
  EXPECT_EQ(list[4].message.sent, 19);
  EXPECT_EQ(list[4].step, 1u);
}

using partition::ActionKind;
using partition::TimedAction;

/// Two chunks a rank, down and up, of two replicas: ranks 0 and 2 hold chunks 0 and 3.
partition::Plan down_and_up() {
  return {.ranks = {{0, 2}, {1, 3}},
          .chunks = {{.stage = 0, .predicted = {.bytes = {.weights = 10, .saved = 6}}},
                     {.stage = 1},
                     {.stage = 1},
                     {.stage = 0}}};
}

TEST(TraceFlows, JoinTheRanksOfAReplica) {
  std::vector<std::vector<TimedAction>> passes(4);
  for (const int first : {0, 2}) {
    const double at = 100.0 * first;
    passes[first] = {{{ActionKind::forward, 0, 5}, at, at + 10},
                     {{ActionKind::forward, 3, 5}, at + 40, at + 50},
                     {{ActionKind::backward, 3, 5}, at + 50, at + 60}};
    passes[first + 1] = {{{ActionKind::forward, 1, 5}, at + 20, at + 30},
                         {{ActionKind::forward, 2, 5}, at + 30, at + 40},
                         {{ActionKind::backward_input, 2, 5}, at + 70, at + 80},
                         {{ActionKind::backward_weight, 2, 5}, at + 80, at + 90}};
  }
  const auto flows = flows_of(down_and_up(), passes);
  ASSERT_EQ(flows.size(), 6u);  // of each replica: down, up, and a gradient down
  EXPECT_EQ(flows[0].from_rank, 0);
  EXPECT_EQ(flows[0].to_rank, 1);
  EXPECT_DOUBLE_EQ(flows[0].sent, 9.9);
  EXPECT_DOUBLE_EQ(flows[0].taken, 20.1);
  EXPECT_EQ(flows[0].edge, (partition::Edge{0, 1, partition::Edge::Kind::activation}));
  EXPECT_EQ(flows[0].micro_batch, 5);
  EXPECT_EQ(flows[1].from_rank, 1);
  EXPECT_DOUBLE_EQ(flows[1].sent, 39.9);
  EXPECT_DOUBLE_EQ(flows[2].taken, 70.1);  // by the input gradient
  EXPECT_EQ(flows[2].edge, (partition::Edge{3, 2, partition::Edge::Kind::gradient}));
  EXPECT_EQ(flows[3].from_rank, 2);
  EXPECT_EQ(flows[3].to_rank, 3);
}

TEST(TraceFlows, MemoryFollowsMicroBatchesInFlight) {
  const auto memory = memory_of(down_and_up(), 2,
                                {{{ActionKind::forward, 0, 0}, 0, 1},
                                 {{ActionKind::forward, 0, 1}, 1, 2},
                                 {{ActionKind::backward_input, 0, 0}, 2, 3},
                                 {{ActionKind::backward_weight, 0, 0}, 3, 4},
                                 {{ActionKind::backward, 0, 1}, 4, 6}});
  std::vector<double> times, bytes;
  for (const partition::MemoryPoint& point : memory) {
    times.push_back(point.time);
    bytes.push_back(point.bytes);
  }
  EXPECT_EQ(times, (std::vector<double>{0, 1, 4, 6}));
  EXPECT_EQ(bytes, (std::vector<double>{13, 16, 13, 10}));
  EXPECT_TRUE(memory_of(down_and_up(), 0, {}).empty());
}

}  // namespace
}  // namespace penstock::tools
