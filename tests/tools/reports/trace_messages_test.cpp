#include "tools/reports/trace_messages.h"

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

}  // namespace
}  // namespace penstock::tools
